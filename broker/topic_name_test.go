package broker

import (
	"strings"
	"testing"
)

func TestTopicNames(t *testing.T) {
	for _, good := range []string{"a", "A.b_c-9", "__consumer_offsets", "...", strings.Repeat("x", 249)} {
		if bad := checkTopicName(good); bad != nil {
			t.Errorf("%q is refused: %s", good, bad.message)
		}
	}
	for _, bad := range []string{"", ".", "..", "a b", "a/b", "é", "\xff", "a\x00", "a\n", strings.Repeat("x", 250)} {
		if r := checkTopicName(bad); r == nil || r.code != 17 || r.message == "" {
			t.Errorf("%q: %+v, want code 17 with a message", bad, r)
		}
	}
}
