package trial

import (
	"strings"
	"testing"
)

func TestTailKeepsTheEnd(t *testing.T) {
	tail := Tail{Keep: 4096}
	for range 40 {
		tail.Write(make([]byte, 512))
	}
	tail.Write([]byte("the end"))
	if got := tail.String(); len(got) != 4096 || !strings.HasSuffix(got, "the end") {
		t.Fatalf("%d bytes", len(got))
	}
	if cap(tail.buf) > 8*4096 {
		t.Fatalf("%d bytes are kept", cap(tail.buf))
	}
}
