package damage

import (
	"fmt"
	"path/filepath"
	"strings"
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

// The newest segment is removed after a kill, or all of them, and nothing lies behind them. No
// offset that was acknowledged is given again, and the log and verify name the file.
func TestNewestSegmentRemovedAfterAKill(t *testing.T) {
	dir := filled(t, true)
	whole := map[part]int64{parts[0]: 30 * recordsEach, parts[1]: 0, parts[2]: 20 * recordsEach} // records that are left
	for _, p := range parts {
		for n := whole[p] / (10 * recordsEach); n < batchesEach/10; n++ {
			remove(t, filepath.Join(dir, nth(p, ".log", -1)(t, dir)))
		}
	}
	found := command(t, "verify", "--data-dir", dir, "--output", "json")
	repaired := filepath.Join(t.TempDir(), "repaired")
	copyTree(t, dir, repaired)
	b := harness.StartOwn(t, harness.Options{DataDir: dir, Overrides: overrides})
	next := map[part]int64{}
	for _, p := range parts {
		if !lostNamed(found, p, endOffset-1) || !found.names(p.String()+"/00000000000000000150.log") {
			t.Errorf("%v: %v", p, found)
		}
		s := readAll(t, b.Addr(), p)
		for o := range int64(endOffset) {
			if s.got[o] != (o < whole[p]) {
				t.Errorf("%v: the record at %d was sent: %v", p, o, s.got[o])
			}
		}
		for o, code := range s.codes {
			if want := map[bool]int16{true: kerr.CorruptMessage.Code, false: kerr.OffsetOutOfRange.Code}[whole[p] > 0]; code != want {
				t.Errorf("%v: code %d at %d, want %d", p, code, o, want)
			}
		}
		if next[p] = append1(t, dial(t, b.Addr()), p, -1, 1, time.Now().UnixMilli(), -1); next[p] < endOffset {
			t.Errorf("%v gives offset %d again", p, next[p])
		}
	}
	b.Kill()
	for _, p := range parts {
		if file := filepath.Join(p.String(), "00000000000000000150.log"); !strings.Contains(b.Stderr(), file) {
			t.Errorf("the log does not name %s:\n%s", file, b.Stderr())
		}
	}
	b = harness.StartOwn(t, harness.Options{DataDir: dir, Overrides: overrides})
	for _, p := range parts {
		append1(t, dial(t, b.Addr()), p, next[p]+1, 1, time.Now().UnixMilli(), -1)
	}

	if v := command(t, "repair", "--data-dir", repaired, "--yes", "--output", "json"); v.code != 0 {
		t.Fatalf("repair: %v", v)
	}
	if v := command(t, "verify", "--data-dir", repaired, "--output", "json"); v.code != 0 {
		t.Errorf("verify after the repair: %v", v)
	}
	b = harness.StartOwn(t, harness.Options{DataDir: repaired, Overrides: overrides})
	for _, p := range parts {
		if at := append1(t, dial(t, b.Addr()), p, -1, 1, time.Now().UnixMilli(), -1); at < endOffset {
			t.Errorf("after the repair %v gives offset %d again", p, at)
		}
	}
}

// A bit of the offset of the very last batch is flipped after a kill. It costs this batch,
// which verify names and a repair brings back, and the next record gets the next offset.
func TestOffsetOfTheLastBatchFlippedAfterAKill(t *testing.T) {
	dir := filled(t, true)
	for i, p := range parts {
		edit(func(b []byte) []byte {
			pos := 0
			for next := 0; next < len(b); next += record.Batch(b[next:]).Size() {
				pos = next
			}
			b[pos+7-i] ^= 0x20 >> i // up: further down its neighbour is in doubt as well
			return b
		})(t, filepath.Join(dir, newestLog(t, dir, p)))
	}
	found := command(t, "verify", "--data-dir", dir, "--output", "json")
	repaired := filepath.Join(t.TempDir(), "repaired")
	copyTree(t, dir, repaired)
	b := harness.StartOwn(t, harness.Options{DataDir: dir, Overrides: overrides})
	const lost = endOffset - recordsEach
	for _, p := range parts {
		if found.code != 1 || !found.names(newestLog(t, dir, p)) {
			t.Errorf("%v: %v", p, found)
		}
		s := readAll(t, b.Addr(), p)
		if len(s.codes) != 1 || s.codes[lost] != kerr.CorruptMessage.Code || len(s.got) != lost {
			t.Errorf("%v: %d records, refused %v, want CORRUPT_MESSAGE at %d", p, len(s.got), s.codes, lost)
		}
		append1(t, dial(t, b.Addr()), p, endOffset, 1, time.Now().UnixMilli(), -1)
	}
	if v := command(t, "repair", "--data-dir", repaired, "--yes", "--output", "json"); v.code != 0 {
		t.Fatalf("repair: %v", v)
	}
	b = harness.StartOwn(t, harness.Options{DataDir: repaired, Overrides: overrides})
	for _, p := range parts {
		if s := readAll(t, b.Addr(), p); len(s.got) != endOffset {
			t.Errorf("after the repair %v has %d of %d records", p, len(s.got), endOffset)
		}
	}
}

func newestLog(t *testing.T, dir string, p part) string { return nth(p, ".log", -1)(t, dir) }

// After a kill files of two partitions of one topic have changed places, which have the same
// name, size and offsets. None of their records is served as the other partition's; a
// segment that was closed is refused, and the partition is offline where it is the newest.
func TestExchangedAfterAKill(t *testing.T) {
	for name, segment := range map[string]int{"closed": 1, "newest": -1} {
		for _, suffixes := range [][]string{{".log"}, {".log", ".index"}, {".log", ".index", ".snapshot"}} {
			t.Run(fmt.Sprintf("%s %v", name, suffixes), func(t *testing.T) {
				dir := filled(t, true)
				file := nth(o0, ".log", segment)(t, dir)
				exchanged(suffixes...)(t, filepath.Join(dir, file))
				if v := command(t, "verify", "--data-dir", dir, "--output", "json"); v.code != 1 || !v.names(file) {
					t.Errorf("verify: %v", v)
				}
				b := harness.StartOwn(t, harness.Options{DataDir: dir, Overrides: overrides})
				for _, p := range parts {
					s := readAll(t, b.Addr(), p) // and compares what it reads
					from, to := int64(10*recordsEach), int64(20*recordsEach)
					if segment < 0 {
						from, to = 0, endOffset // offline
					}
					for o := range int64(endOffset) {
						if want := p.topic != "orders" || o < from || o >= to; s.got[o] != want {
							t.Fatalf("%v: the record at %d was sent: %v, want %v; codes %v", p, o, s.got[o], want, s.codes)
						}
					}
				}
				if err := b.Stop(); err != nil {
					t.Error(err)
				}
				if said := b.Stderr(); !strings.Contains(said, file) {
					t.Errorf("the log does not name %s:\n%s", file, said)
				}
			})
		}
	}
}
