package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ringmain/bench/facts"
	"ringmain/bench/latency"
	"ringmain/bench/load"
	"ringmain/bench/result"
)

// seconds takes down the measured time, one point a second.
type seconds struct {
	run   *run
	log   *latency.Log // nil: none
	now   load.Interval
	from  time.Duration // since the measured time began
	at    time.Duration // end of the last point, clock of pace.Now
	wall  time.Time
	usage facts.Usage
	peak  int64 // bytes of memory; facts.Unknown as long as nobody knows
	open  bool  // there is time that is in no point yet
}

// add takes what came since the last look; last closes the second whatever its
// length.
func (s *seconds) add(ctx context.Context, i *load.Interval, now time.Duration, last bool) error {
	s.now.Add(i)
	took := now - s.at
	if s.open = took < time.Second-lookEvery/2 && !last; s.open {
		return nil
	}
	s.from += took
	r := s.run
	t, l := &s.now.Sections[counted(r.Spec.Kind)], &s.now.Sections[mainSection(r.Spec.Kind)].Latency
	rate, p := rates(t, took.Seconds()), l.Corrected()
	point := result.Point{
		Second: s.from.Seconds(), Records: rate.Records, Bytes: rate.Bytes, Requests: rate.Requests,
		P50: p.P50, P99: p.P99, Max: p.Max, Errors: s.now.Failures(),
	}
	usage := r.usage(ctx)
	if spent := usage.Since(s.usage); spent.CPU != facts.Unknown {
		cores := spent.CPU.Seconds() / took.Seconds()
		point.ServerCPU = &cores
	}
	point.ServerRSS = known(usage.RSSBytes)
	s.peak = max(s.peak, usage.RSSBytes)
	r.doc.Series = append(r.doc.Series, point)
	wall := s.wall.Add(took)
	if s.log != nil {
		if err := s.log.Interval(s.wall, wall, l); err != nil {
			return fmt.Errorf("write the histogram log: %w", err)
		}
	}
	s.at, s.wall, s.usage, s.now = now, wall, usage, load.Interval{}
	return nil
}

func sum(errors map[string]int64) (n int64) {
	for _, k := range errors {
		n += k
	}
	return n
}

// listed names errors with their numbers, in order.
func listed(errors map[string]int64) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(errors)) {
		words = append(words, fmt.Sprintf("%s %d times", name, errors[name]))
	}
	return strings.Join(words, ", ")
}
