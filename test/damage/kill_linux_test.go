package damage

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/record"
	"ringmain/test/harness"
)

// A broker is killed, and a bit of one batch is flipped before the next start, in whatever
// segment. It costs the batch, not what was acknowledged behind it, and no offset is
// given again.
func TestFlipAfterAKillCostsOneBatch(t *testing.T) {
	for name, segment := range map[string]int{"in the first segment": 0, "in a middle one": 2, "in the newest": -1} {
		for what, at := range map[string]int{"length": 8, "checksum": 17, "payload": 500} {
			t.Run(what+" "+name, func(t *testing.T) {
				dir := filled(t, true)
				lost := map[part]int64{}
				for i, p := range parts {
					file := filepath.Join(dir, nth(p, ".log", segment)(t, dir))
					edit(func(b []byte) []byte {
						pos := 0
						for range 2 + i { // another batch in each partition, and never the last
							pos += record.Batch(b[pos:]).Size()
						}
						lost[p] = record.Batch(b[pos:]).BaseOffset()
						b[pos+at] ^= 0x10
						return b
					})(t, file)
				}
				b := harness.StartOwn(t, harness.Options{DataDir: dir, Overrides: overrides})
				for _, p := range parts {
					s := readAll(t, b.Addr(), p)
					if len(s.codes) != 1 || s.codes[lost[p]] != kerr.CorruptMessage.Code {
						t.Errorf("%v: refused %v, want CORRUPT_MESSAGE at %d", p, s.codes, lost[p])
					}
					for o := range int64(endOffset) {
						if want := o < lost[p] || o >= lost[p]+recordsEach; s.got[o] != want {
							t.Errorf("%v: the record at %d was sent: %v, want %v", p, o, s.got[o], want)
						}
					}
					append1(t, dial(t, b.Addr()), p, endOffset, 1, time.Now().UnixMilli(), -1)
				}
			})
		}
	}
}

// A segment's file is removed after a kill: its offsets are refused, and nothing else.
func TestSegmentRemovedAfterAKillCostsTheSegment(t *testing.T) {
	dir := filled(t, true)
	for i, p := range parts {
		remove(t, filepath.Join(dir, nth(p, ".log", 1+i%2)(t, dir)))
	}
	b := harness.StartOwn(t, harness.Options{DataDir: dir, Overrides: overrides})
	for i, p := range parts {
		s := readAll(t, b.Addr(), p)
		from := int64(10*recordsEach) * int64(1+i%2)
		for o := range int64(endOffset) {
			if want := o < from || o >= from+10*recordsEach; s.got[o] != want {
				t.Errorf("%v: the record at %d was sent: %v, want %v", p, o, s.got[o], want)
			}
		}
		for o, code := range s.codes {
			if code != kerr.CorruptMessage.Code {
				t.Errorf("%v: code %d at %d", p, code, o)
			}
		}
		append1(t, dial(t, b.Addr()), p, endOffset, 1, time.Now().UnixMilli(), -1)
	}
}
