package load

import (
	"sync"
	"testing"
	"time"
)

// What workers note while somebody looks is in exactly one interval.
func TestNothingIsLostBetweenLooks(t *testing.T) {
	const workers, each = 4, 20_000
	m := &Meter{}
	var running sync.WaitGroup
	for range workers {
		w := m.Worker()
		running.Go(func() {
			for i := range each {
				w.Done(Produce, 2, 10, 0, 0, time.Duration(1+i%100)*time.Millisecond)
				if i%100 == 0 {
					w.Failed("NOT_LEADER_FOR_PARTITION")
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	var sum Interval
	for going := true; going; {
		select {
		case <-ended:
			going = false
		default:
		}
		sum.Add(m.Take())
	}
	p := &sum.Sections[Produce]
	if p.Requests != workers*each || p.Records != 2*workers*each || p.Bytes != 10*workers*each || p.Latency.Count() != workers*each {
		t.Errorf("%d requests, %d records, %d bytes, %d latencies", p.Requests, p.Records, p.Bytes, p.Latency.Count())
	}
	if n := sum.Failures(); n != workers*each/100 {
		t.Errorf("%d failures", n)
	}
	if f := &sum.Sections[Fetch]; f.Requests != 0 || f.Latency.Count() != 0 {
		t.Errorf("nobody fetched, and there are %d fetches", f.Requests)
	}
}

// A latency can be noted without a request: one answer ends the way of many records.
func TestLatencyAlone(t *testing.T) {
	m := &Meter{}
	w := m.Worker()
	w.Took(EndToEnd, 0, 0, 3*time.Millisecond)
	w.Took(EndToEnd, 0, 0, 5*time.Millisecond)
	i := m.Take()
	if e := &i.Sections[EndToEnd]; e.Requests != 0 || e.Latency.Count() != 2 || e.Latency.Corrected().Max < 5000 {
		t.Errorf("%d requests, %+v", e.Requests, e.Latency.Corrected())
	}
}
