package crash

import (
	"strings"
	"testing"
)

func TestLedgerFindsWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		read func(l *ledger)
		want string
	}{
		"all is well": {func(l *ledger) {
			l.found(0, 0, value(0, 0))
			l.found(0, 1, value(0, 1))
			l.found(0, 2, value(0, 2))
		}, ""},
		"lost":         {func(l *ledger) { l.found(0, 0, value(0, 0)) }, "where nothing is"},
		"moved":        {func(l *ledger) { l.found(0, 0, value(0, 0)); l.found(0, 1, value(0, 2)) }, "where record 2 is"},
		"twice":        {func(l *ledger) { l.found(0, 0, value(0, 0)); l.found(0, 1, value(0, 1)); l.found(0, 2, value(0, 1)) }, "behind record 1"},
		"other bytes":  {func(l *ledger) { l.found(0, 0, []byte("0-0-y")) }, "holds"},
		"not in order": {func(l *ledger) { l.found(0, 1, value(0, 1)); l.found(0, 2, value(0, 0)) }, "behind record 1"},
	} {
		l := newLedger(1)
		l.ack(0, 0, 0, nil)
		l.ack(0, 1, 1, nil)
		c.read(l)
		got := strings.Join(l.verdict(), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: verdict %q", name, got)
		}
	}
	for _, c := range []struct {
		start int64
		well  bool
	}{{4, true}, {7, true}, {9, true}, {3, false}, {10, false}} {
		l := newLedger(1)
		l.ack(0, 0, 2, nil) // deleted in any case
		l.askStart(0, 9)
		l.ackStart(0, 4)
		l.foundStart(0, c.start)
		if got := l.verdict(); (len(got) == 0) != c.well {
			t.Errorf("log start %d: verdict %q", c.start, got)
		}
	}
	l := newLedger(1)
	l.ack(0, 0, 5, nil)
	l.ack(0, 1, 5, nil)
	if len(l.verdict()) == 0 {
		t.Error("one offset for two records was not noticed")
	}
}
