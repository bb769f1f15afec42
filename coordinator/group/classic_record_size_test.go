package group

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// tooMuch is more than a record of the tests' topic takes.
var tooMuch = strings.Repeat("x", 1<<20)

// TestAnAssignmentThatIsNoRecord is refused to all who wait for it, as by Kafka, and the
// members join again.
func TestAnAssignmentThatIsNoRecord(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	ids, generation := w.settled(2)
	a, b := w.join(w.joinRequest(9, ids[0], "range")), w.join(w.joinRequest(9, ids[1], "range"))
	a.got()
	b.got()
	generation++
	follower := w.sync(w.syncRequest(5, ids[1], generation, nil))
	before := len(w.log)
	leader := w.sync(w.syncRequest(5, ids[0], generation, map[string]string{ids[0]: tooMuch})).got()
	if leader.ErrorCode != kerr.UnknownServerError.Code || follower.got().ErrorCode != kerr.UnknownServerError.Code {
		t.Errorf("leader %d, follower %d", leader.ErrorCode, follower.got().ErrorCode)
	}
	if d := w.describe(5); d.State != "PreparingRebalance" || len(w.log) != before {
		t.Errorf("%s, and %d records were written", d.State, len(w.log)-before)
	}
	a, b = w.join(w.joinRequest(9, ids[0], "range")), w.join(w.joinRequest(9, ids[1], "range"))
	a.got()
	b.got()
	generation++
	if code := w.sync(w.syncRequest(5, ids[0], generation, map[string]string{ids[1]: "all"})).got().ErrorCode; code != 0 {
		t.Errorf("a smaller one: %d", code)
	}
}

// TestAMemberThatSaysTooMuch leaves nothing behind.
func TestAMemberThatSaysTooMuch(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	large := w.joinRequest(9, "", "range")
	large.Protocols[0].Metadata = []byte(tooMuch)
	many := w.joinRequest(3, "")
	for i := range 20_000 {
		many.Protocols = append(many.Protocols, kmsg.JoinGroupRequestProtocol{Name: fmt.Sprint(i)})
	}
	if code := w.join(large).got().ErrorCode; code != kerr.InvalidRequest.Code {
		t.Errorf("large metadata: %d", code)
	}
	if code := w.join(many).got().ErrorCode; code != kerr.InvalidRequest.Code {
		t.Errorf("many protocols: %d", code)
	}
	if len(w.m.groups) > 0 {
		t.Error("a group was made")
	}
}
