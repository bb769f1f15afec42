package bench

import (
	"errors"

	"ringmain/bench/franz"
	"ringmain/bench/replay"
	"ringmain/bench/workload"
)

// Check says what of a load cannot be carried out, as far as that is known before any
// broker is asked: values out of range, what its engine does not do, and what would
// never be answered.
func Check(s *workload.Spec) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if s.Kind == workload.Fetch && s.FetchMode == workload.Tail && s.Topic == "" {
		return errors.New("fetch_mode tail waits for records that somebody writes, and nobody writes to a topic that is made: name a topic, or use kind mixed")
	}
	// Other kinds go on without stamps where there is no room for them.
	stamped := s.Kind == workload.EndToEnd
	if s.Engine == workload.Franz {
		return franz.Check(s, stamped)
	}
	return replay.Check(s, stamped)
}

// CheckSearch is Check for FindKnee, which sets the rates itself.
func CheckSearch(s *workload.Spec) error {
	switch {
	case s.Kind == workload.Idle:
		return errors.New("idle connections have no rate, so there is no knee to find")
	case s.Kind == workload.Fetch && s.FetchMode == workload.Tail:
		return errors.New("fetches at the tail have the rate of those who write, so there is no knee to find: use kind e2e")
	case s.Kind == workload.EndToEnd && s.Acks == 0:
		return errors.New("end to end with acks 0 has no closed loop to begin the search with: use acks 1 or all")
	}
	paced := *s
	paced.Rate = workload.Rate{Records: 1}
	return Check(&paced)
}
