package lag

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// stream produces to orders, a record every few milliseconds until the test ends, and
// gives where the log ends.
func (w *watched) stream() (end func() int64) {
	w.t.Helper()
	// What the leader has counts: a disk that is slow for a moment does not stop the log's growth.
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.broker.Addr()), kgo.DefaultProduceTopic("orders"), kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	w.t.Cleanup(func() { stop(); <-done; cl.Close() })
	var n atomic.Int64
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				cl.Produce(ctx, &kgo.Record{Value: []byte("v")}, func(r *kgo.Record, err error) {
					if err == nil {
						n.Store(r.Offset + 1)
					}
				})
			}
		}
	}()
	return n.Load
}

// TestAlertOnGrowth: while a producer goes on, a group that stopped and one that is too slow
// are told of once each, and once when they have caught up. Groups that commit seldom, whose lag
// goes up and down, or stays where it is, are not told of.
func TestAlertOnGrowth(t *testing.T) {
	const window = 6 * time.Second
	hook := newHook(t, nil, takes)
	const key = "ringmain.lag.alert.growing."
	w := newWatched(t, nil, key+"group=.*", key+"growing.for.ms=6000", key+"webhook="+hook.URL)
	if _, err := w.adm.CreateTopic(context.Background(), 1, 1, nil, "still"); err != nil {
		t.Fatal(err)
	}
	if err := w.cl.ProduceSync(context.Background(), &kgo.Record{Topic: "still"}, &kgo.Record{Topic: "still"}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	end := w.stream()
	w.commitIn("still", "idle", 0)
	w.commit("stopped", 0)

	behind := true
	var committed time.Time // by the group that commits seldom
	// consume has all groups commit until ok.
	consume := func(what string, ok func() bool) {
		t.Helper()
		turn := int64(0)
		until(t, what, func() bool {
			turn++
			at := end()
			w.commit("swings", max(0, at-turn%7*20))
			if time.Since(committed) > window/3 {
				w.commit("steps", at)
				committed = time.Now()
			}
			if behind {
				w.commit("slow", at/2)
			} else {
				w.commit("slow", at)
				w.commit("stopped", at)
			}
			return ok()
		})
	}
	told := func(n int) bool { return len(hook.told("slow")) >= n && len(hook.told("stopped")) >= n }
	consume("growth is told of", func() bool { return told(1) })
	if v, _ := w.series("ringmain_lag_alerts_firing", `{alert="growing"}`); v != 2 {
		t.Errorf("%v are firing", v)
	}
	since := time.Now() // the others have as much time again to be taken for growing
	consume("another window", func() bool { return time.Since(since) > window })
	behind = false
	consume("catching up is told of", func() bool { return told(2) })
	for _, group := range []string{"slow", "stopped"} {
		got := hook.told(group)
		if len(got) != 2 || got[0].State != "firing" || !got[0].Growing || got[1].State != "cleared" || got[1].Growing || got[1].Records >= got[0].Records {
			t.Errorf("got %+v", got)
		}
	}
	for _, group := range []string{"idle", "swings", "steps"} {
		if got := hook.told(group); len(got) > 0 {
			t.Errorf("got %+v", got)
		}
	}
	fired, _ := w.series("ringmain_lag_alerts_total", `{alert="growing"}`)
	firing, _ := w.series("ringmain_lag_alerts_firing", `{alert="growing"}`)
	if fired != 2 || firing != 0 {
		t.Errorf("%v fired, %v still do", fired, firing)
	}
	log := w.broker.Stderr()
	if n, m := strings.Count(log, "a group is behind"), strings.Count(log, "a group has caught up"); n != 2 || m != 2 {
		t.Errorf("the log tells of %d and %d", n, m)
	}
}
