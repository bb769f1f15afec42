package group

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"ringmain/coordinator"
	"ringmain/model"
)

// TestRandomOffsetsAgreeWithAModel commits, deletes, expires, deletes and makes topics
// and loads anew at random, and compares with a map: an offset is there until
// something may take it, and never another one than was committed last.
func TestRandomOffsetsAgreeWithAModel(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomOffsets(t, seed) })
	}
}

func randomOffsets(t *testing.T, seed uint64) {
	const groups, topics, partitions = 4, 3, 3
	rng := rand.New(rand.NewPCG(seed, 0))
	h := newHarness(t, retention)
	type place struct {
		group string
		model.TopicPartition
	}
	type stored struct{ offset, atMs int64 }
	want := map[place]stored{}
	forget := func(fits func(place) bool) {
		for p := range want {
			if fits(p) {
				delete(want, p)
			}
		}
	}
	for i := range topics {
		h.create(fmt.Sprint("t", i), partitions)
	}
	for n := range int64(500) {
		p := place{fmt.Sprint("g", rng.IntN(groups)), model.TopicPartition{Topic: fmt.Sprint("t", rng.IntN(topics)), Partition: rng.Int32N(partitions)}}
		switch rng.IntN(20) {
		default:
			h.commit(p.group, p.Topic, p.Partition, n)
			want[p] = stored{n, h.wallMs()}
		case 0:
			if h.exists(p.group) {
				h.deletes(p.group, p.Topic, p.Partition, nil, nil)
				delete(want, p)
			}
		case 1:
			if h.exists(p.group) {
				h.deletesGroup(p.group, nil)
				forget(func(other place) bool { return other.group == p.group })
			}
		case 2:
			h.delete(p.Topic)
			h.create(p.Topic, partitions)
			forget(func(other place) bool { return other.Topic == p.Topic })
		case 3:
			h.load()
		case 4:
			// A write that fails: the machine is loaded from what is in the log.
			before := h.log
			h.hold = true
			a := ask(h, func(s *coordinator.Step, reply func(int16, error)) { h.m.DeleteGroup(s, p.group, reply) })
			h.release(coordinator.ErrUnavailable)
			a.failed()
			h.log = before
			h.load()
		case 5, 6, 7:
			h.pass(rng.Int64N(hourMs / 4))
		}
		for p, s := range want {
			got, age := h.offset(p.group, p.Topic, p.Partition), h.wallMs()-s.atMs
			switch {
			case got == s.offset:
			case got == -1 && age >= hourMs:
				delete(want, p)
			default:
				t.Fatalf("step %d: %v of group %s is %d, %d was committed %d ms ago", n, p.TopicPartition, p.group, got, s.offset, age)
			}
		}
		left := map[place]bool{}
		h.m.Committed(func(group string, _ Kind, _, topic string, partition int32, _, _ int64) {
			left[place{group, model.TopicPartition{Topic: topic, Partition: partition}}] = true
		})
		if len(left) != len(want) {
			t.Fatalf("step %d: %d offsets are there, want %d", n, len(left), len(want))
		}
	}
}
