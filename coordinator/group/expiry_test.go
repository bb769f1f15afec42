package group

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ringmain/coordinator/group/records"
)

const hourMs = 3600_000

// retention is an hour, looked at each minute.
func retention(c *Config) { c.RetentionMs, c.RetentionCheckMs = hourMs, 60_000 }

// expires says how long after its commit the offset of orders-0 is there: until, and not
// for a minute longer.
func (h *harness) expires(group string, afterMs int64) {
	h.t.Helper()
	committed := h.fetched(group, "orders", 0)
	h.pass(afterMs - 1)
	if got := h.fetched(group, "orders", 0); got.Offset != committed.Offset || committed.Offset == -1 {
		h.t.Fatalf("after %d ms the offset is %d, it was %d", afterMs-1, got.Offset, committed.Offset)
	}
	h.pass(60_001)
	if got := h.offset(group, "orders", 0); got != -1 {
		h.t.Fatalf("after %d ms the offset is still there: %d", afterMs+60_000, got)
	}
}

func TestOffsetsOfAClientThatOnlyCommitsExpire(t *testing.T) {
	h := newHarness(t, retention)
	h.create("orders", 1)
	h.commit("g", "orders", 0, 5)
	h.pass(hourMs / 2)
	h.commit("g", "orders", 0, 5) // the same again counts
	h.expires("g", hourMs)
	if h.exists("g") {
		t.Error("the group is there without anything left")
	}
}

func TestOffsetsOfAnEmptyGroupExpireSinceItIsEmpty(t *testing.T) {
	h := newHarness(t, retention)
	h.create("orders", 1)
	h.commit("g", "orders", 0, 5)
	g := h.script("g", scripted{k: Classic, st: "Empty", typ: "consumer", topics: []string{}})
	g.emptySince = h.wallMs() + 2*hourMs
	h.expires("g", 3*hourMs)
	if h.exists("g") {
		t.Error("the group is there without anything left")
	}

	// Where that was not recorded, since the commit.
	h.commit("g", "orders", 0, 5)
	h.script("g", scripted{k: Classic, st: "Empty", typ: "connect"})
	h.expires("g", hourMs)
}

func TestOffsetsOfGroupsWithMembersExpire(t *testing.T) {
	never := int64(math.MaxInt64)
	for _, c := range []struct {
		g     scripted
		after int64
	}{
		{scripted{k: Classic, st: "Stable", typ: "consumer", topics: []string{"other"}}, hourMs},
		{scripted{k: Classic, st: "Stable", typ: "consumer", topics: []string{"other", "orders"}}, never},
		{scripted{k: Classic, st: "Stable", typ: "consumer"}, never}, // nobody knows what they read
		{scripted{k: Classic, st: "PreparingRebalance", typ: "consumer", topics: []string{"other"}}, never},
		{scripted{k: Classic, st: "CompletingRebalance", typ: "consumer", topics: []string{"other"}}, never},
		{scripted{k: Classic, st: "Stable", typ: "connect"}, never},
		{scripted{k: Consumer, st: "Stable", typ: "consumer", topics: []string{"other"}}, hourMs},
		{scripted{k: Consumer, st: "Reconciling", typ: "consumer", topics: []string{"other"}}, hourMs},
		{scripted{k: Consumer, st: "Stable", typ: "consumer", topics: []string{"orders"}}, never},
	} {
		t.Run(fmt.Sprint(c.g.k, c.g.st, c.g.typ, c.g.topics), func(t *testing.T) {
			h := newHarness(t, retention)
			h.create("orders", 1)
			h.commit("g", "orders", 0, 5)
			c.g.n, c.g.deleteCode = 1, 68
			h.script("g", c.g)
			if c.after == never {
				h.pass(100 * hourMs)
				h.offsets("orders", map[string]int64{"g": 5})
			} else {
				h.expires("g", c.after)
			}
			if !h.exists("g") {
				t.Error("a group with members is forgotten")
			}
		})
	}
}

func TestOffsetsOfAnEmptyConsumerGroupExpireSinceTheCommit(t *testing.T) {
	h := newHarness(t, retention)
	h.create("orders", 1)
	h.commit("g", "orders", 0, 5)
	g := h.script("g", scripted{k: Consumer, st: "Empty", typ: "consumer", topics: []string{}})
	g.emptySince = h.wallMs() + 50*hourMs
	h.expires("g", hourMs)
	if h.exists("g") {
		t.Error("the group is there without anything left")
	}
}

func TestAnOffsetMayNameItsRetention(t *testing.T) {
	for _, c := range []struct{ retention, after int64 }{
		{2 * hourMs, 2 * hourMs},
		{hourMs / 2, hourMs / 2},
		{-1, hourMs}, // the broker's
	} {
		for version := int16(2); version <= 4; version++ {
			h := newHarness(t, retention)
			h.create("orders", 1)
			req := with(commitRequest("g"), "orders", 0, 5, "m")
			req.Version, req.RetentionTimeMillis = version, c.retention
			h.commits(req, nil)
			h.load()
			if p := h.fetched("g", "orders", 0); *p.Metadata != "m" {
				t.Errorf("%+v", p)
			}
			h.expires("g", c.after)
		}
	}
	h := newHarness(t, retention)
	h.create("orders", 1)
	for _, ms := range []int64{math.MaxInt64, math.MaxInt64 - harnessWallMs} {
		req := with(commitRequest("g"), "orders", 0, 5)
		req.Version, req.RetentionTimeMillis = 4, ms
		h.commits(req, nil)
		h.pass(100 * hourMs)
		h.offsets("orders", map[string]int64{"g": 5})
	}
	for _, ms := range []int64{-5, math.MinInt64, 0} {
		req := with(commitRequest("g"), "orders", 0, 5)
		req.Version, req.RetentionTimeMillis = 4, ms
		h.commits(req, nil)
		h.expires("g", 1)
	}
	// A later commit without one is kept as long as the broker keeps offsets.
	req := with(commitRequest("g"), "orders", 0, 5)
	req.Version, req.RetentionTimeMillis = 4, 1
	h.commits(req, nil)
	h.commit("g", "orders", 0, 6)
	h.expires("g", hourMs)
}

func TestAGroupIsForgottenWithItsLastOffset(t *testing.T) {
	h := newHarness(t, retention)
	h.create("orders", 2)
	h.commit("g", "orders", 0, 5)
	h.pass(hourMs / 2)
	h.commit("g", "orders", 1, 6)
	h.pass(hourMs/2 + 60_000)
	if h.offset("g", "orders", 0) != -1 || h.offset("g", "orders", 1) != 6 || !h.exists("g") {
		t.Error("one of two offsets was to expire")
	}
	h.pass(hourMs)
	if h.exists("g") {
		t.Error("the group is there without anything left")
	}
	// Its last record is the group's tombstone.
	d, err := records.Decode(h.log[len(h.log)-1].Key, h.log[len(h.log)-1].Value)
	if err != nil || d.Kind != records.GroupMetadataKind || d.Group != "g" || !d.Tombstone {
		t.Errorf("%v %+v", err, d)
	}
	n := len(h.log)
	h.pass(10 * hourMs)
	if len(h.log) != n {
		t.Errorf("%d records of a group that is gone", len(h.log)-n)
	}
}

// commitMany makes groups with more offsets each than one step deletes, of partitions
// of orders, which is made.
func commitMany(h *harness, groups int) (commits int) {
	const partitions = maxStepBytes / (24 + 15) // a key has 18 bytes, and a record 24 more
	h.create("orders", partitions)
	for i := range groups {
		req := commitRequest(fmt.Sprint("g", i))
		for p := range int32(partitions) {
			with(req, "orders", p, 5)
		}
		h.commitAsk(req)
	}
	return groups * partitions
}

// boundedSteps lets the machine do what is due until ms from now, and says that none
// of its steps writes too much.
func (h *harness) boundedSteps(ms int64) (steps int) {
	h.t.Helper()
	for end := h.nowMs + ms; ; steps++ {
		at, ok := h.m.NextDeadline()
		if !ok || at > end {
			return steps
		}
		h.nowMs = max(h.nowMs, at)
		before := len(h.log)
		h.step(h.m.Advance)
		bytes := 0
		for _, r := range h.log[before:] {
			bytes += r.Size()
		}
		if bytes > maxStepBytes+records.MaxString {
			h.t.Errorf("a step wrote %d bytes, the most is about %d", bytes, maxStepBytes)
		}
	}
}

func TestExpiryOfMuchIsDoneInSteps(t *testing.T) {
	h := newHarness(t, retention)
	commitMany(h, 2)
	h.pass(hourMs - 1)
	if steps := h.boundedSteps(60_000); steps < 3 {
		t.Errorf("%d steps", steps)
	}
	if ids := h.list(nil, nil); len(ids) > 0 {
		t.Errorf("%q are still there", ids)
	}
}

// TestGroupsWithoutOffsetsAreForgottenInSteps: a tombstone of a group can be as large as
// its id.
func TestGroupsWithoutOffsetsAreForgottenInSteps(t *testing.T) {
	h := newHarness(t, retention)
	h.create("orders", 1)
	for i := range 100 {
		id := fmt.Sprint(i, strings.Repeat("g", 32_000))
		h.commit(id, "orders", 0, 5)
		h.script(id, scripted{k: Classic, st: "Empty", typ: "connect", topics: []string{}})
	}
	h.delete("orders") // in steps of its own
	if steps := h.boundedSteps(60_000); steps < 3 {
		t.Errorf("%d steps", steps)
	}
}

// TestAClockSetForwardExpiresNothing: what a record's age is counted to stays behind a
// wall clock that jumps.
func TestAClockSetForwardExpiresNothing(t *testing.T) {
	h := newHarness(t, retention)
	h.create("orders", 1)
	h.commit("g", "orders", 0, 5)
	h.wallAheadMs = 1000 * hourMs
	h.pass(hourMs / 2)
	if got := h.offset("g", "orders", 0); got != 5 {
		t.Fatalf("half an hour and a jump later the offset is %d", got)
	}
	h.pass(hourMs/2 + 60_000)
	if got := h.offset("g", "orders", 0); got != -1 {
		t.Errorf("after the retention time the offset is %d", got)
	}
}
