package wire

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// servedKeys are the keys of the table.
func servedKeys() []int16 {
	var keys []int16
	for _, s := range schemas {
		keys = append(keys, s.key)
	}
	return keys
}

// fill sets every field of v to something random, nil included where a field
// can be nil.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> (64 - 8*v.Type().Size()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> (64 - 8*v.Type().Size()))
	case reflect.String:
		v.SetString(randomString(r))
	case reflect.Pointer:
		if r.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Slice:
		if r.IntN(5) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
			for i := range v.Len() {
				fill(r, v.Index(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Struct:
		if tags, ok := v.Addr().Interface().(*kmsg.Tags); ok {
			*tags = kmsg.Tags{}
			for range r.IntN(3) {
				tags.Set(100+r.Uint32N(1000), []byte(randomString(r)))
			}
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Version" {
				fill(r, v.Field(i))
			}
		}
	default:
		panic(v.Kind())
	}
}

func randomString(r *rand.Rand) string {
	n := r.IntN(12)
	if r.IntN(20) == 0 {
		n = 120 + r.IntN(20) // compact lengths of one and of two bytes
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

// randomRequest returns a request of a version with random contents.
func randomRequest(r *rand.Rand, key, version int16) kmsg.Request {
	req := kmsg.RequestForKey(key)
	fill(r, reflect.ValueOf(req).Elem())
	req.SetVersion(version)
	// kmsg writes tagged fields in flexible versions that do not have them yet,
	// which Kafka refuses.
	if f, ok := req.(*kmsg.FetchRequest); ok {
		if version < 15 {
			f.ReplicaState = kmsg.NewFetchRequestReplicaState()
		}
		for i := range f.Topics {
			for j := range f.Topics[i].Partitions {
				p := &f.Topics[i].Partitions[j]
				if version < 17 {
					p.ReplicaDirectoryID = [16]byte{}
				}
				if version < 18 {
					p.HighWatermark = kmsg.NewFetchRequestTopicPartition().HighWatermark
				}
			}
		}
	}
	return req
}

// eachVersion runs f for every key and version of the table, with a source of
// randomness that is the same every time.
func eachVersion(t *testing.T, f func(t *testing.T, r *rand.Rand, key, version int16)) {
	for _, key := range servedKeys() {
		first, last, _ := Versions(key)
		for version := first; version <= last; version++ {
			t.Run(fmt.Sprintf("%s/v%d", Name(key), version), func(t *testing.T) {
				f(t, rand.New(rand.NewPCG(uint64(key), uint64(version))), key, version)
			})
		}
	}
}
