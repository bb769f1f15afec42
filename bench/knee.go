package bench

import (
	"context"
	"errors"
	"fmt"
	"math"

	"ringmain/bench/result"
	"ringmain/bench/workload"
)

const (
	// kneeWidth is how near the rate that holds and the one that does not come to
	// each other, as a share of the first.
	kneeWidth = 0.05
	// maxKneeSteps bounds a search on a machine on which nothing can be repeated.
	maxKneeSteps = 24
)

// ladder are shares of the closed loop's rate that are measured first: the curve of
// latency against load, whatever the knee.
var ladder = []float64{0.1, 0.25, 0.5, 0.7, 0.85, 1}

// FindKnee searches the highest rate that holds the bound: it measures the closed
// loop, then rates up to it, then halves the interval between the highest rate
// that held and the lowest that did not. The rate that is found is measured once
// more; if it does not hold then, it did not. The document is that of the last run
// at the rate found, with Knee and Curve. With an error it is what was measured until
// then, if anything, with Knee.Unfinished.
func FindKnee(ctx context.Context, o Options, slo SLO) (*result.Document, error) {
	if err := CheckSearch(&o.Spec); err != nil {
		return nil, err
	}
	return findKnee(ctx, o, slo, Run)
}

// findKnee is FindKnee with another way to measure than Run.
func findKnee(ctx context.Context, o Options, slo SLO, run func(context.Context, Options) (*result.Document, error)) (*result.Document, error) {
	k := &search{Options: o, slo: slo, run: run, knee: result.Knee{SLO: slo.String()}, good: map[float64]*result.Document{}}
	err := k.search(ctx)
	if err == nil {
		return k.document(), nil
	}
	if k.knee.MaxRate == nil {
		return nil, err // there is nothing that could be shown
	}
	k.knee.Unfinished = err.Error()
	if ctx.Err() != nil {
		k.knee.Unfinished = "interrupted"
	}
	return k.document(), err
}

// search measures until the rate is found.
func (k *search) search(ctx context.Context) error {
	most, err := k.closedLoop(ctx)
	if err != nil {
		return err
	}
	if err := k.climb(ctx, most); err != nil {
		return err
	}
	return k.narrow(ctx)
}

// search is one search under way. Rates are records a second, of a storm
// connections a second.
type search struct {
	Options
	slo         SLO
	run         func(context.Context, Options) (*result.Document, error)
	knee        result.Knee
	curve       []result.CurvePoint
	held, broke float64                      // the highest that held, the lowest that did not; 0: none
	good        map[float64]*result.Document // the last one of each rate that held
	any         *result.Document             // the last one, whatever it was
	sure        bool                         // held was measured twice
	step        int
}

// measure runs the load at a rate; 0 is closed loop.
func (k *search) measure(ctx context.Context, rate float64, confirms bool) (holds bool, d *result.Document, err error) {
	o := k.Options
	o.Spec.Rate = workload.Rate{Records: rate}
	k.step++
	if k.Progress != nil {
		o.Progress = func(p Progress) {
			p.Phase = fmt.Sprintf("step %d, %s", k.step, p.Phase)
			k.Progress(p)
		}
	}
	if d, err = k.run(ctx, o); err != nil {
		return false, nil, err
	}
	k.any = d
	point := result.CurvePoint{Asked: d.Asked, Reached: d.Reached, Confirms: confirms}
	for _, n := range d.Errors {
		point.Errors += n
	}
	if l := d.Latency; l != nil {
		point.Corrected, point.Uncorrected, point.LateSends = l.Corrected, l.Uncorrected, l.LateSends
	}
	if cpu := d.Costs.ServerCPU; cpu != nil && d.Seconds > 0 {
		cores := *cpu / d.Seconds
		point.ServerCPU = &cores
	}
	point.Why, err = k.objection(d)
	point.Holds = point.Why == ""
	k.curve = append(k.curve, point)
	return point.Holds, d, err
}

// objection says why a run does not hold the bound; "" if it does.
func (k *search) objection(d *result.Document) (string, error) {
	if !d.Verdict.OK {
		return d.Verdict.Reasons[0], nil
	}
	if d.Latency == nil {
		return "nothing was measured", nil
	}
	s, err := d.Latency.Snapshot()
	if err != nil {
		return "", err
	}
	if us, _ := s.At(k.slo.Percentile); us > k.slo.Bound.Microseconds() {
		return fmt.Sprintf("p%v is %d us", k.slo.Percentile, us), nil
	}
	if a := d.Asked; a != nil && (d.Reached.Records < shortOfAsked*a.Records || d.Reached.Requests < shortOfAsked*a.Requests) {
		return "the rate was not reached", nil
	}
	return "", nil
}

// closedLoop is how much goes at most, which bounds the search.
func (k *search) closedLoop(ctx context.Context) (most float64, err error) {
	_, d, err := k.measure(ctx, 0, false)
	if err != nil {
		return 0, err
	}
	k.curve[len(k.curve)-1].Holds = false // it has no rate that could be held
	if !d.Verdict.OK {
		return 0, fmt.Errorf("the closed loop, with which the search begins, cannot be used: %s", d.Verdict.Reasons[0])
	}
	most = d.Reached.Records
	if k.Spec.Kind == workload.Storm {
		most = d.Reached.Requests
	}
	if most <= 0 {
		return 0, errors.New("the closed loop did nothing, so there is no rate to search at")
	}
	k.knee.MaxRate = &d.Reached
	return most, nil
}

// climb measures the ladder until a rate does not hold.
func (k *search) climb(ctx context.Context, most float64) error {
	for _, share := range ladder {
		rate := round(most * share)
		if rate == k.held {
			continue // so few a second that rounding makes them equal
		}
		if err := k.try(ctx, rate); err != nil {
			return err
		}
		if k.broke > 0 {
			return nil
		}
	}
	return nil
}

func (k *search) try(ctx context.Context, rate float64) error {
	holds, d, err := k.measure(ctx, rate, false)
	if err != nil {
		return err
	}
	if holds {
		k.held, k.good[rate] = rate, d
	} else {
		k.broke = rate
	}
	return nil
}

// narrow halves the interval, and confirms what it finds; the last step that there is
// confirms what there is.
func (k *search) narrow(ctx context.Context) error {
	for k.step < maxKneeSteps {
		rate := round((k.held + k.broke) / 2)
		if k.held > 0 && (k.step == maxKneeSteps-1 || k.broke == 0 || k.broke-k.held <= kneeWidth*k.held || rate <= k.held || rate >= k.broke) {
			holds, d, err := k.measure(ctx, k.held, true)
			if err != nil {
				return err
			}
			if holds {
				k.good[k.held], k.sure = d, true
				return nil
			}
			// It held by luck; the rate below it that did is not known any more.
			k.broke, k.held = k.held, k.heldBelow(k.held)
			continue
		}
		if rate < 1 {
			return nil
		}
		if err := k.try(ctx, rate); err != nil {
			return err
		}
	}
	return nil
}

// heldBelow is the highest rate below one that held every time.
func (k *search) heldBelow(rate float64) (held float64) {
	for i := range k.curve {
		p := &k.curve[i]
		if at := asked(p); p.Holds && at < rate {
			held = max(held, at)
		}
	}
	return held
}

func asked(p *result.CurvePoint) float64 {
	if p.Asked == nil {
		return 0
	}
	return max(p.Asked.Records, p.Asked.Requests)
}

// document is the result of the search.
func (k *search) document() *result.Document {
	d, found := k.good[k.held]
	if found {
		k.knee.Held = d.Reached
	} else {
		d = k.any
	}
	k.knee.Found = found && k.knee.Unfinished == ""
	if !k.knee.Found {
		d.Verdict.OK = false
		why := fmt.Sprintf("no rate held %v", k.slo)
		if k.knee.Unfinished != "" {
			why = "the search did not come to its end: " + k.knee.Unfinished
		}
		d.Verdict.Reasons = append(d.Verdict.Reasons, why)
	}
	if k.knee.Found && !k.sure {
		d.Warnings = append(d.Warnings, fmt.Sprintf("after %d runs the search ended without measuring the rate that it found once more", k.step))
	}
	for i := range k.curve {
		if p := &k.curve[i]; k.broke > 0 && asked(p) == k.broke {
			k.knee.Broke = &p.Reached
		}
	}
	if k.knee.Found && k.broke > 0 {
		k.knee.Width = (k.broke - k.held) / k.held
	}
	d.Knee, d.Curve = &k.knee, k.curve
	return d
}

// round keeps three digits: rates that people read, and repeat.
func round(rate float64) float64 {
	if rate < 1 {
		return rate
	}
	unit := math.Pow(10, math.Max(0, math.Floor(math.Log10(rate))-2))
	return math.Round(rate/unit) * unit
}
