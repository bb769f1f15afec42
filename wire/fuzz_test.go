package wire

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzDecode throws bytes at every decoder: the header, the guard, kmsg behind
// it, and the walk of Produce. None may panic; what the guard accepts, kmsg
// reads; and what kmsg writes of it again, the guard accepts.
func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, key := range servedKeys() {
		first, last, _ := Versions(key)
		for v := first; v <= last; v++ {
			f.Add(key, v, randomRequest(r, key, v).AppendTo(nil))
		}
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		if h, err := ParseHeader(body); err == nil {
			_, _ = Decode(h.Key, h.Version, body[h.Size:])
		}
		before := bytes.Clone(body)
		req, err := Decode(key, version, body)
		if !bytes.Equal(before, body) {
			t.Fatal("decoding changed the frame")
		}
		if key == keyProduce {
			if first, last, _ := Versions(key); version >= first && version <= last {
				walkAgreesWithCheck(t, version, body)
			}
		}
		if err != nil {
			return
		}
		again := req.AppendTo(nil)
		n, err := check(key, version, again)
		if err != nil || n != len(again) {
			t.Fatalf("%s version %d: written again as %x: took %d, %v", Name(key), version, again, n, err)
		}
		if kmsg.RequestForKey(key).Key() != req.Key() {
			t.Fatal("another request")
		}
	})
}
