package franz

import (
	"errors"
	"fmt"
	"time"

	"ringmain/bench/audit"
	"ringmain/bench/load"
	"ringmain/bench/workload"
)

const (
	// idempotentInFlight is what franz-go has in flight when it is idempotent.
	idempotentInFlight = 5
	// minFetchWait is the shortest wait of a fetch that franz-go takes.
	minFetchWait = 10 * time.Millisecond
	// idleFor is the longest that franz-go leaves a connection alone, and
	// maxIdle what of it a load may use.
	idleFor = 15 * time.Minute
	maxIdle = idleFor - time.Minute
)

// faults gathers what cannot be done.
type faults []error

func (f *faults) that(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("engine %s: %w", workload.Franz, errors.Join(f...))
}

// check is Check, with what the environment lacks.
func check(env *load.Env) error {
	s := &env.Spec
	f := limits(s, env.Book != nil)
	f.that(len(env.Partitions) > 0 || !s.Kind.Produces() && !s.Kind.Fetches(),
		"a load of kind %s needs a partition, and there is none", s.Kind)
	f.that(s.Kind != workload.EndToEnd || env.Book != nil, "the way of a record to its reader is measured by its stamp; a load of kind %s needs the account of records", s.Kind)
	f.that(!s.Kind.Fetches() || s.FetchMode == workload.Tail || len(filled(env.Partitions)) > 0 || len(env.Partitions) == 0,
		"fetch_mode %s reads what is there, and all %d partitions are empty; fill them first", s.FetchMode, len(env.Partitions))
	return f.err()
}

// Check says everything that this engine cannot do of a load; stamped means that its
// records are told apart by a stamp in each.
func Check(s *workload.Spec, stamped bool) error { return limits(s, stamped).err() }

func limits(s *workload.Spec, stamped bool) (f faults) {
	if s.Kind.Produces() {
		f.that(!s.Idempotent || s.Acks == -1, "an idempotent producer needs acks all, not %d; use acks all, or idempotent false", s.Acks)
		f.that(!s.Idempotent || s.InFlight == idempotentInFlight,
			"franz-go always has up to %d requests in flight when it is idempotent, not %d; use in_flight %[1]d, or idempotent false",
			idempotentInFlight, s.InFlight)
		f.that(!stamped || s.Record.Min() >= audit.StampBytes,
			"record_size %v has values shorter than the %d bytes of a stamp, which tells records apart; use longer ones, or switch the account off",
			s.Record, audit.StampBytes)
	}
	if s.Kind.Fetches() {
		f.that(s.FetchMaxWait >= minFetchWait, "franz-go lets fetches wait for %v or longer, not %v; use a longer fetch_max_wait", minFetchWait, s.FetchMaxWait)
		f.that(s.Kind != workload.Fetch || s.Rate.Max(), "franz-go decides itself when it fetches, so it cannot keep to the rate %v; use rate max, or the engine %s", s.Rate, workload.Replay)
		f.that(s.Kind != workload.Fetch || s.InFlight == 1, "franz-go has one fetch in flight on a connection, not %d; use in_flight 1, or the engine %s", s.InFlight, workload.Replay)
	}
	if s.Kind == workload.Idle {
		f.that(s.WarmUp+s.Duration <= maxIdle, "franz-go closes connections that are idle for %v, so %v of idling are too long; use at most %v for warm_up and duration, or the engine %s",
			idleFor, s.WarmUp+s.Duration, maxIdle, workload.Replay)
	}
	return f
}

// filled are the numbers of the partitions that have records.
func filled(partitions []load.Partition) (numbers []int) {
	for n, p := range partitions {
		if p.End > p.Start {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
