package broker

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// responseError finds the error code to count a response under: its own, else
// the first of its items' (topics, resources, results), or of their items where those
// have none. Only for the requests that are not on the hot path.
func responseError(r kmsg.Response) int16 { return errorIn(reflect.ValueOf(r).Elem()) }

func errorIn(v reflect.Value) int16 {
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
		_, ok := items.Type().Elem().FieldByName("ErrorCode")
		for j := range items.Len() {
			code := int16(0)
			if ok {
				code = int16(items.Index(j).FieldByName("ErrorCode").Int())
			} else {
				code = errorIn(items.Index(j))
			}
			if code != 0 {
				return code
			}
		}
	}
	return 0
}
