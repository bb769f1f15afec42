package group

import "testing"

// TestNothingOfARequestIsKept: its bytes belong to a frame that others write to after the
// answer.
func TestNothingOfARequestIsKept(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	overwrite := func(all ...[]byte) {
		for _, b := range all {
			for i := range b {
				b[i] = '!'
			}
		}
	}
	join := w.joinRequest(3, "", "range", "sticky")
	a := w.join(join).got()
	overwrite(join.Protocols[0].Metadata, join.Protocols[1].Metadata)
	sync := w.syncRequest(3, a.MemberID, a.Generation, map[string]string{a.MemberID: "all"})
	w.sync(sync).got()
	overwrite(sync.GroupAssignment[0].MemberAssignment)
	check := func(when string) {
		t.Helper()
		if m := w.describe(5).Members[0]; string(m.ProtocolMetadata) != "of range" || string(m.MemberAssignment) != "all" {
			t.Errorf("%s: metadata %q, assignment %q", when, m.ProtocolMetadata, m.MemberAssignment)
		}
	}
	check("after the first join")
	join = w.joinRequest(3, a.MemberID, "range", "sticky")
	again := w.join(join).got()
	overwrite(join.Protocols[0].Metadata, join.Protocols[1].Metadata)
	if got := again.Members[0].ProtocolMetadata; string(got) != "of range" {
		t.Errorf("the leader is told %q", got)
	}
	w.sync(w.syncRequest(3, a.MemberID, again.Generation, map[string]string{a.MemberID: "all"})).got()
	check("after the second")
}
