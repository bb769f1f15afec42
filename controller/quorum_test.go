package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"ringmain/internal/vfs"
	"ringmain/metadata"
)

// voter is one of several nodes on a network in memory.
type voter struct {
	id      int32
	mem     *vfs.Mem
	network *raft.InmemTransport
	*Controller
}

func newVoters(t *testing.T, ids ...int32) []*voter {
	var all []*voter
	for _, id := range ids {
		all = append(all, &voter{id: id, mem: vfs.NewMem()})
	}
	for _, v := range all {
		v.start(t, ids)
	}
	connect(all)
	return all
}

func (v *voter) start(t *testing.T, ids []int32) {
	t.Helper()
	_, v.network = raft.NewInmemTransport(raft.ServerAddress(serverID(v.id)))
	cfg := Config{Dir: "/meta", NodeID: v.id, ClusterID: "three", FS: v.mem, network: v.network, voters: ids,
		limits: limits{checkpointEntries: 30, checkpointBytes: 1 << 30}}
	c, err := Open(cfg, testLog(t))
	if err != nil {
		t.Fatal(err)
	}
	v.Controller = c
}

func connect(all []*voter) {
	for _, a := range all {
		for _, b := range all {
			if a != b {
				a.network.Connect(b.network.LocalAddr(), b.network)
			}
		}
	}
}

func cutOff(v *voter, all []*voter) {
	v.network.DisconnectAll()
	for _, other := range all {
		other.network.Disconnect(v.network.LocalAddr())
	}
}

func startAll(t *testing.T, all []*voter) {
	t.Helper()
	errs := make(chan error, len(all))
	for _, v := range all {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			errs <- v.Start(ctx)
		}()
	}
	for range all {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

func leaderOf(t *testing.T, all []*voter) *voter {
	t.Helper()
	for range 1000 {
		for _, v := range all {
			if v.raft.State() == raft.Leader {
				return v
			}
		}
		time.Sleep(50 * time.Millisecond) // virtual
	}
	t.Fatal("no leader")
	return nil
}

// Three voters agree, elect another leader when one is cut off, and the one
// that was away catches up; nothing that was answered is lost, also when all
// are started again.
func TestThreeVoters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := []int32{1, 2, 3}
		all := newVoters(t, ids...)
		startAll(t, all)
		first := leaderOf(t, all)
		created := 0
		create := func(c *Controller) {
			t.Helper()
			for range 40 {
				mustCreate(t, c, fmt.Sprint("t", created))
				created++
			}
		}
		create(first.Controller)
		for _, v := range all {
			if v != first {
				if _, err := createTopic(v.Controller, "refused", 1); !errors.Is(err, ErrNotLeader) {
					t.Errorf("a follower took a change: %v", err)
				}
			}
		}

		cutOff(first, all)
		done := make(chan error, 1)
		go func() {
			_, err := createTopic(first.Controller, "by-the-old-leader", 1)
			done <- err
		}()
		if err := <-done; err == nil {
			t.Error("a leader without a majority answered a change")
		}
		var rest []*voter
		for _, v := range all {
			if v != first {
				rest = append(rest, v)
			}
		}
		second := leaderOf(t, rest)
		create(second.Controller)
		connect(all)
		time.Sleep(10 * time.Second) // virtual
		for _, v := range all {
			if d := metadata.Diff(second.Image(), v.Image()); !d.Empty() || v.Image().NumTopics() != created || v.Image().FeaturesEpoch() != 2 {
				t.Errorf("node %d has %d topics, want %d: %+v", v.id, v.Image().NumTopics(), created, d)
			}
		}
		q := second.Quorum()
		if len(q.Voters) != 3 || q.LeaderID != second.id {
			t.Errorf("quorum %+v", q)
		}

		for _, v := range all {
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for _, v := range all {
			v.start(t, ids)
		}
		connect(all)
		startAll(t, all)
		if leader := leaderOf(t, all); leader.Image().NumTopics() != created {
			t.Errorf("after starting all again: %d topics, want %d", leader.Image().NumTopics(), created)
		}
		for _, v := range all {
			v.Close()
		}
	})
}

// A node whose log is behind the leader's checkpoint gets the whole image.
func TestFollowerIsGivenACheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := []int32{1, 2, 3}
		all := newVoters(t, ids...)
		startAll(t, all)
		leader := leaderOf(t, all)
		away := all[0]
		if away == leader {
			away = all[1]
		}
		if err := away.Close(); err != nil {
			t.Fatal(err)
		}
		cutOff(away, all)
		for n := range 900 { // beyond what is left in the log
			mustCreate(t, leader.Controller, fmt.Sprint("t", n))
			waitForCheckpoint(leader.Controller)
		}
		if first, _ := leader.logs.FirstIndex(); first < 500 {
			t.Fatalf("the leader's log begins with entry %d", first)
		}
		away.start(t, ids)
		connect(all)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := away.Start(ctx); err != nil {
			t.Fatal(err)
		}
		mustCreate(t, leader.Controller, "more")
		time.Sleep(10 * time.Second) // virtual
		if d := metadata.Diff(leader.Image(), away.Image()); !d.Empty() || away.Image().NumTopics() != 901 {
			t.Errorf("%d topics, want 901", away.Image().NumTopics())
		}
		closeClean(t, away.Controller)
		away.start(t, ids)
		connect(all)
		if err := away.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if n := away.Image().NumTopics(); n != 901 {
			t.Errorf("after a restart: %d topics", n)
		}
		for _, v := range all {
			v.Close()
		}
	})
}
