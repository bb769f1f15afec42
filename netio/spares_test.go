package netio

import (
	"testing"

	"ringmain/internal/invariant"
)

func large(c *Conn, n int) *Frame {
	f := newFrame(c, n)
	f.store[0], f.store[len(f.store)-1] = 1, 1 // it is really there
	return f
}

func TestSpares(t *testing.T) {
	const mib = 1 << 20
	srv := &Server{}
	s := &srv.spares
	s.limit = 10 * mib
	s.armed = true // the test trims
	c := &Conn{srv: srv}
	check := func(when string, mapped, kept int64) {
		t.Helper()
		if s.mapped != mapped*mib || s.kept != kept*mib {
			t.Fatalf("%s: %d bytes are mapped and %d of them kept, want %d and %d MiB", when, s.mapped, s.kept, mapped, kept)
		}
	}

	a := large(c, 4*mib)
	b := large(c, 4*mib)
	if !a.mapped || a == b {
		t.Fatal("large frames are not mapped each for itself")
	}
	check("two in use", 8, 0)
	a.recycle()
	b.recycle()
	check("two kept", 8, 8)
	if again := large(c, 4*mib); again != b {
		t.Fatal("the frame used last is not used again")
	} else if invariant.Enabled && again.store[1] != 0xdb {
		t.Fatal("a kept frame still has its bytes")
	}
	check("one used again", 8, 4)

	d := large(c, 8*mib)
	check("the other gave way to a larger one", 12, 0)
	d.recycle()
	check("a frame beyond the limit is not kept", 4, 0)
	b.recycle()
	check("one kept", 4, 4)

	s.trim()
	check("used since the last trim", 4, 4)
	s.trim()
	check("not used since", 0, 0)

	x := large(c, 200*mib)
	check("larger than any class", 200, 0)
	x.recycle()
	check("not kept", 0, 0)

	large(c, 4*mib).recycle()
	out := large(c, 2*mib)
	s.close()
	check("closed with one in use", 2, 0)
	out.recycle()
	check("released after that", 0, 0)

	if small := newFrame(c, pooledBytes); small.mapped {
		t.Fatal("a frame for the pools is mapped")
	}
}

// What is kept comes to its end by itself.
func TestSparesAreTrimmed(t *testing.T) {
	srv := &Server{}
	srv.spares.limit = 64 << 20
	c := &Conn{srv: srv}
	large(c, 8<<20).recycle()
	eventually(t, "kept memory is returned", func() bool {
		srv.spares.mu.Lock()
		defer srv.spares.mu.Unlock()
		return srv.spares.mapped == 0 && !srv.spares.armed
	})
}
