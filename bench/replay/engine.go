package replay

import (
	"fmt"

	"ringmain/bench/audit"
	"ringmain/bench/load"
	"ringmain/bench/workload"
)

// check is Check, with what the environment lacks.
func check(env *load.Env) error {
	s := &env.Spec
	if s.Kind == workload.EndToEnd && env.Book == nil {
		return fmt.Errorf("kind %s needs an account of the records", s.Kind)
	}
	return Check(s, env.Book != nil && s.Kind.Produces())
}

// Check says what of a load this engine cannot carry out; stamped means that its
// records are told apart by a mark in each.
func Check(s *workload.Spec, stamped bool) error {
	switch {
	case stamped && s.Codec != "none":
		return fmt.Errorf("codec %s: engine replay cannot mark records inside of compressed batches, which kind %s needs: use codec none, or engine franz", s.Codec, s.Kind)
	case stamped && s.Record.Min() < audit.StampBytes:
		return fmt.Errorf("record_size %v: the mark that kind %s puts into each record takes %d bytes", s.Record, s.Kind, audit.StampBytes)
	case s.Kind == workload.Fetch && s.InFlight != 1:
		return fmt.Errorf("in_flight %d: a fetch goes on where the one before ended, so engine replay has 1 on each connection; use more consumers", s.InFlight)
	case s.Kind == workload.Storm && s.Rate.Bytes > 0:
		return fmt.Errorf("rate %v: connections carry no records; give kind %s a number of connections a second", s.Rate, s.Kind)
	}
	return nil
}
