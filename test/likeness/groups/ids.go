package groups

import (
	"fmt"
	"reflect"
	"regexp"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ids are the member ids that one broker has given out, and the names that they have in
// a sequence: what the client said, and the how manieth id that is.
type ids struct {
	names  map[string]string // by id
	actual map[string]string // by name
	count  map[string]int    // by what the client said
}

func newIDs() *ids { return &ids{map[string]string{}, map[string]string{}, map[string]int{}} }

var generated = regexp.MustCompile(`(?s)^(.*)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// name gives the name of a member id; one that no broker made stands for itself.
func (x *ids) name(id string) string {
	if name, ok := x.names[id]; ok {
		return name
	}
	said := generated.FindStringSubmatch(id)
	if said == nil {
		return id
	}
	x.count[said[1]]++
	name := fmt.Sprintf("%s#%d", said[1], x.count[said[1]])
	x.names[id], x.actual[name] = name, id
	return name
}

// translate gives one broker's form of a request, in which names are ids.
func (s *sequence) translate(side int, req kmsg.Request) kmsg.Request {
	out := kmsg.RequestForKey(req.Key())
	out.SetVersion(req.GetVersion())
	if err := out.ReadFrom(req.AppendTo(nil)); err != nil {
		panic(err) // a request of ours
	}
	s.replace(side, reflect.ValueOf(out).Elem())
	return out
}

func (s *sequence) replace(side int, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			s.replace(side, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Name != "UnknownTags" {
				s.replace(side, v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			for i := range v.Len() {
				s.replace(side, v.Index(i))
			}
		}
	case reflect.String:
		if id, ok := s.ids[side].actual[v.String()]; ok {
			v.SetString(id)
		}
	case reflect.Array:
		if id, ok := s.pair.topicIDs[side][v.Interface().([16]byte)]; ok {
			v.Set(reflect.ValueOf(id))
		}
	}
}
