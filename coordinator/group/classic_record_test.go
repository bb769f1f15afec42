package group

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// lastingClassic is what of a classic group is in its record.
func lastingClassic(m *Machine, id string) string {
	g := m.groups[id]
	if g == nil {
		return "none"
	}
	c := g.members.(*classic)
	var members []string
	for _, m := range c.members {
		metadata, _ := m.metadata(*c.protocol)
		instance := "-"
		if m.instance != nil {
			instance = *m.instance
		}
		members = append(members, fmt.Sprintf("%s %s %s%s %d %d %q %q", m.id, instance, m.clientID, m.clientHost,
			m.sessionTimeoutMs, m.rebalanceTimeoutMs, metadata, m.assignment))
	}
	slices.Sort(members)
	protocol := "-"
	if c.protocol != nil {
		protocol = *c.protocol
	}
	return fmt.Sprintf("%s since %d: generation %d of %q by %s, leader %q\n%s",
		c.current, c.sinceMs, c.generation, c.typ, protocol, c.leader, strings.Join(members, "\n"))
}

func TestAGroupIsLoadedAsItWas(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	ids, _ := w.settled(2)
	_, generation := w.addStatic("i", ids)
	now := w.join(w.joinStatic(9, "", "i", "range")).got().MemberID
	before := lastingClassic(w.m, "g")
	w.pass(5000)
	w.load()
	if after := lastingClassic(w.m, "g"); after != before {
		t.Fatalf("before: %s\nafter: %s", before, after)
	}
	w.pass(5000) // a whole session to come back
	for _, id := range append(ids, now) {
		if code := w.heartbeat(w.heartbeatRequest(4, id, generation)).got().ErrorCode; code != 0 {
			t.Errorf("%s: %d", id, code)
		}
		if got := w.sync(w.syncRequest(5, id, generation, nil)).got(); !strings.HasPrefix(string(got.MemberAssignment), "share of ") {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if code := w.commit(ids[0], "", generation); code != 0 {
		t.Errorf("commit: %d", code)
	}
	w.pass(6000)
	if d := w.describe(5); d.State != "Empty" {
		t.Errorf("nobody came back: %+v", d)
	}
}

func TestAGroupIsLoadedWhileItRebalanced(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	ids, generation := w.settled(2)
	before := lastingClassic(w.m, "g")
	a := w.join(w.joinRequest(9, ids[0], "range"))
	w.join(w.joinRequest(9, ids[1], "range"))
	a.got()
	sync := w.sync(w.syncRequest(5, ids[1], generation+1, nil))
	sync.waits()
	w.m.Unload(coordinator.ErrNotCoordinator)
	<-sync.done
	if !errors.Is(sync.err, coordinator.ErrNotCoordinator) {
		t.Errorf("who waited: %+v %v", sync.response, sync.err)
	}
	w.load()
	if after := lastingClassic(w.m, "g"); after != before {
		t.Fatalf("before: %s\nafter: %s", before, after)
	}
	// Nobody has seen an assignment of the newer generation. Its members are sent back
	// and then find each other again.
	if code := w.sync(w.syncRequest(5, ids[0], generation+1, map[string]string{ids[0]: "all"})).got().ErrorCode; code != kerr.IllegalGeneration.Code {
		t.Errorf("%d", code)
	}
	a = w.join(w.joinRequest(9, ids[0], "range"))
	b := w.join(w.joinRequest(9, ids[1], "range"))
	if a.got().Generation != generation+1 || b.got().Generation != generation+1 {
		t.Errorf("%+v\n%+v", a.got(), b.got())
	}
}

func TestUnloadTellsWhoWaitsInJoinGroup(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	ids, _ := w.settled(2)
	a := w.join(w.joinRequest(9, ids[0], "range"))
	a.waits()
	w.m.Unload(coordinator.ErrUnavailable)
	<-a.done
	if !errors.Is(a.err, coordinator.ErrUnavailable) {
		t.Errorf("%v", a.err)
	}
}

// A loaded member is known by the protocol of its generation only. When it joins with
// all it speaks that is news, as it is for Kafka.
func TestALoadedMemberThatJoinsRebalances(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	id, a := w.enter("range", "sticky")
	a.got()
	w.sync(w.syncRequest(5, id, 1, nil)).got()
	w.load()
	if got := w.join(w.joinRequest(9, id, "range", "sticky")).got(); got.Generation != 2 {
		t.Errorf("%+v", got)
	}
}

func TestAnEmptyGroupIsRecorded(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	ids, generation := w.settled(1)
	w.pass(1000)
	left := w.wallMs()
	w.leave(w.leaveRequest(ids...)).got()
	w.pass(60_000)
	w.load()
	c := w.m.groups["g"].members
	if since, ok := c.emptySinceMs(); !ok || since != left {
		t.Errorf("%d %v", since, ok)
	}
	if c.state(nil) != "Empty" || c.protocolType() != "consumer" || c.size() != 0 || c.mayDelete() != 0 {
		t.Errorf("%s %s", c.state(nil), c.protocolType())
	}
	if _, a := w.enter("range"); a.got().Generation != generation+2 {
		t.Errorf("%+v", a.got())
	}
	if c := w.m.groups["g"].members; c.mayDelete() != kerr.NonEmptyGroup.Code {
		t.Error(c.mayDelete())
	}
	if _, ok := c.emptySinceMs(); ok {
		t.Error("it is not empty any more")
	}
}

func TestATombstoneForgetsTheGroup(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	ids, _ := w.settled(1)
	w.leave(w.leaveRequest(ids...)).got()
	w.join(w.joinRequest(9, "", "range")).got() // pending
	w.step(func(s *coordinator.Step) { w.m.groups["g"].members.forget(s) })
	if at, ok := w.m.NextDeadline(); !ok || at != w.nowMs+int64(w.cfg.RetentionCheckMs) {
		t.Errorf("the group has a deadline left: %d %v", at, ok)
	}
	last := w.log[len(w.log)-1]
	if d, err := records.Decode(last.Key, last.Value); err != nil || d.Kind != records.GroupMetadataKind || !d.Tombstone || d.Group != "g" {
		t.Errorf("%+v %v", d, err)
	}
	for range 2 {
		if d := w.describe(5); d.State != "Dead" {
			t.Errorf("%+v", d)
		}
		w.load()
	}
}

// A group of the consumer protocol that became a classic one is loaded as that.
func TestARecordOfMembersChangesTheProtocol(t *testing.T) {
	machineOnly(t)
	m := New(harnessConfig())
	m.ensure("g").members = &consumerMembers{n: 1}
	if err := m.applyGroupMetadata(0, "g", nil); err != nil || m.groups["g"].members.kind() != Consumer {
		t.Errorf("an older tombstone: %v", err)
	}
	v := records.GroupMetadataValue{ProtocolType: "consumer", Protocol: kmsg.StringPtr("range"), Generation: 7, Members: []records.MemberMetadata{{MemberID: "a"}}}
	if err := m.applyGroupMetadata(0, "g", &v); err != nil {
		t.Fatal(err)
	}
	if got, want := lastingClassic(m, "g"), `Stable since 0: generation 7 of "consumer" by range, leader "a"`+"\na -  0 0 \"\" \"\""; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// group.max.size may have been lowered: the group then rebalances, and who comes last
// is turned away.
func TestALoadedGroupThatIsTooLargeRebalances(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	ids, generation := w.settled(3)
	w.cfg.MaxSize = 2
	w.load()
	for _, id := range ids {
		if code := w.heartbeat(w.heartbeatRequest(4, id, generation)).got().ErrorCode; code != kerr.RebalanceInProgress.Code {
			t.Errorf("%d", code)
		}
	}
	a, b := w.join(w.joinRequest(9, ids[0], "range")), w.join(w.joinRequest(9, ids[1], "range"))
	if code := w.join(w.joinRequest(9, ids[2], "range")).got().ErrorCode; code != kerr.GroupMaxSizeReached.Code {
		t.Errorf("%d", code)
	}
	if a.got().Generation != generation+1 || len(a.got().Members) != 2 || b.got().Generation != generation+1 {
		t.Errorf("%+v\n%+v", a.got(), b.got())
	}
}

func TestRecordsThatKafkaWouldNotWrite(t *testing.T) {
	machineOnly(t)
	member := records.MemberMetadata{MemberID: "a", SessionTimeout: 7000, RebalanceTimeout: -1}
	for _, row := range []struct {
		name  string
		value records.GroupMetadataValue
		want  string
	}{
		{"no rebalance timeout", records.GroupMetadataValue{ProtocolType: "t", Protocol: kmsg.StringPtr("p"), Leader: kmsg.StringPtr("a"), Members: []records.MemberMetadata{member}},
			`Stable since 0: generation 0 of "t" by p, leader "a"` + "\na -  7000 7000 \"\" \"\""},
		{"a leader who is no member", records.GroupMetadataValue{ProtocolType: "t", Protocol: kmsg.StringPtr("p"), Leader: kmsg.StringPtr("?"), Members: []records.MemberMetadata{member}},
			`Stable since 0: generation 0 of "t" by p, leader "a"` + "\na -  7000 7000 \"\" \"\""},
		{"a member twice", records.GroupMetadataValue{ProtocolType: "t", Protocol: kmsg.StringPtr("p"), Members: []records.MemberMetadata{member, member}},
			`Stable since 0: generation 0 of "t" by p, leader "a"` + "\na -  7000 7000 \"\" \"\""},
		{"no time", records.GroupMetadataValue{CurrentStateTimestamp: -1}, `Empty since -1: generation 0 of "" by -, leader ""` + "\n"},
	} {
		m := New(harnessConfig())
		if err := m.applyGroupMetadata(0, "g", &row.value); err != nil {
			t.Errorf("%s: %v", row.name, err)
		} else if got := lastingClassic(m, "g"); got != row.want {
			t.Errorf("%s:\n got %s\nwant %s", row.name, got, row.want)
		}
	}
	m := New(harnessConfig())
	err := m.applyGroupMetadata(0, "g", &records.GroupMetadataValue{Members: []records.MemberMetadata{member}})
	if err == nil || !strings.Contains(err.Error(), `"g" has 1 members and no protocol`) {
		t.Errorf("%v", err)
	}
}
