package controller

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmain/internal/vfs"
)

// Verify and Open agree on whatever is done to a directory, but for an older
// checkpoint, which Open does not read; and Verify changes nothing.
func TestVerifyAgreesWithOpen(t *testing.T) {
	for _, clean := range []bool{true, false} {
		all := used(t, clean)
		var names []string
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
		v, err := Verify(restore(t, all), "/meta")
		if err != nil || len(v.Problems) > 0 || v.Image == nil || v.Image.Topic("last") == nil || v.Entries == 0 {
			t.Fatalf("clean %v, before any damage: %+v, %v", clean, v, err)
		}
		rng := rand.New(rand.NewPCG(3, 4))
		for range 400 {
			name := names[rng.IntN(len(names))]
			b := bytes.Clone(all[name])
			changed := map[string][]byte{}
			for n, b := range all {
				changed[n] = b
			}
			what := "flipped"
			switch k := rng.IntN(5); {
			case k == 0 && len(b) > 0:
				what, b = "cut", b[:rng.IntN(len(b))]
			case k == 1:
				what, b = "zeros behind", append(b, make([]byte, 1+rng.IntN(600))...)
			case k == 2:
				what, b = "missing", nil
			case len(b) > 0:
				b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			}
			changed[name] = b
			if b == nil {
				delete(changed, name)
			}
			mem := restore(t, changed)
			v, err := Verify(mem, "/meta")
			if err != nil {
				t.Fatalf("clean %v, %s %s: %v", clean, name, what, err)
			}
			if after, err := mem.ReadDir("/meta"); err != nil || len(after) != len(changed) {
				t.Fatalf("clean %v, %s %s: verify changed the directory", clean, name, what)
			}
			for _, p := range v.Problems {
				if !strings.Contains(p.Error(), "/meta") {
					t.Errorf("clean %v, %s %s: no file in %q", clean, name, what, p)
				}
			}
			c, err := Open(testConfig(mem), nil)
			if c != nil {
				c.Close()
			}
			older := strings.HasSuffix(name, checkpointSuffix) && v.Spare == ""
			if (err != nil) != (len(v.Problems) > 0) && !older {
				t.Errorf("clean %v, %s %s: verify %v, open %v", clean, name, what, v.Problems, err)
			}
			if v.Spare != "" { // and moved away, all is well
				if err := mem.Rename(v.Spare, "/aside"); err != nil {
					t.Fatal(err)
				}
				v, err := Verify(mem, "/meta")
				if err != nil || len(v.Problems) > 0 || v.Image == nil || v.Image.Topic("last") == nil {
					t.Errorf("clean %v, %s %s, moved away: %+v, %v", clean, name, what, v, err)
				}
			}
		}
	}
}

func TestLockOfVerify(t *testing.T) {
	mem := restore(t, used(t, true))
	l, err := Lock(mem, "/meta")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(testConfig(mem), nil); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("a node starts meanwhile: %v", err)
	}
	l.Close()
	if id, node, err := Identity(mem, "/meta"); err != nil || id != "6OrsXMpnRmWEyxB5y4yEVw" || node != testConfig(mem).NodeID {
		t.Errorf("identity %q, %d, %v", id, node, err)
	}
	mem.Remove(filepath.Join("/meta", quorumStateName))
	if _, _, err := Identity(mem, "/meta"); err == nil {
		t.Error("an identity without a file")
	}
}
