package broker

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// responseError finds the error code to count a response under: its own, else
// the first of its items' (topics, resources, results). What lies deeper is not
// looked at. Only for the requests that are not on the hot path.
func responseError(r kmsg.Response) int16 {
	v := reflect.ValueOf(r).Elem()
	if f := v.FieldByName("ErrorCode"); f.IsValid() {
		if code := int16(f.Int()); code != 0 {
			return code
		}
	}
	for i := range v.NumField() {
		items := v.Field(i)
		if items.Kind() != reflect.Slice || items.Type().Elem().Kind() != reflect.Struct {
			continue
		}
		if _, ok := items.Type().Elem().FieldByName("ErrorCode"); !ok {
			continue
		}
		for j := range items.Len() {
			if code := int16(items.Index(j).FieldByName("ErrorCode").Int()); code != 0 {
				return code
			}
		}
	}
	return 0
}
