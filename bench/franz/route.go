package franz

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench/load"
	"ringmain/bench/workload"
)

// route says which partition each record of a client goes to.
type route struct {
	own   []int // numbers of the partitions, in turn, for records without keys
	stay  int   // records that go to one before the next one has its turn
	at    int
	stays int

	byKey kgo.TopicPartitioner // nil: there are no keys
	all   int
}

// newRoute makes the route of a client out of several. Without keys a client has
// partitions of its own as far as there are enough.
func newRoute(env *load.Env, client int) *route {
	r := &route{stay: recordsPerBatch(&env.Spec), all: len(env.Partitions)}
	if env.Spec.Key.Form != workload.NoKeys {
		// Kafka's own: other programs find a key where this one puts it, as long
		// as the partitions are those of one topic.
		r.byKey = kgo.StickyKeyPartitioner(nil).ForTopic(env.Partitions[0].Topic)
		return r
	}
	r.own = share(client, env.Spec.Connections, len(env.Partitions))
	return r
}

// share is which of all things one worker out of several has: every one that is
// its turn, or, where there are more workers than things, one with others.
func share(worker, workers, all int) (own []int) {
	if workers > all {
		return []int{worker % all}
	}
	for n := worker; n < all; n += workers {
		own = append(own, n)
	}
	return own
}

// next is the number of the partition that a record goes to.
func (r *route) next(rec *kgo.Record) int {
	if r.byKey != nil {
		return r.byKey.Partition(rec, r.all)
	}
	if r.stays == r.stay {
		r.stays = 0
		r.at = (r.at + 1) % len(r.own)
	}
	r.stays++
	return r.own[r.at]
}
