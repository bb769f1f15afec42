package lag

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync/atomic"
	"testing"
	"time"
)

func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

// rule is one that only looks at records, of the groups of a pattern.
func rule(group string, records int64) Rule {
	return Rule{Name: "behind", Group: whole(group), Records: records, Seconds: -1}
}

func (w *Watcher) tally() Tally { return w.Tallies()[0] }

func TestAlertTurnsOnceEachWay(t *testing.T) {
	f := newFake()
	f.log("t", 0, Bounds{End: 100})
	f.log("t", 1, Bounds{End: 100})
	f.commit("billing", "t", 0, 50)
	f.commit("billing", "t", 1, 50)
	f.commit("other", "t", 0, 0)
	w := f.watcher(rule("bill.*", 99))
	for range 3 {
		w.check(context.Background())
	}
	if got := w.tally(); got.Firing != 1 || got.Fired != 1 {
		t.Fatalf("got %+v", got)
	}
	known := f.commits
	f.commits, f.err = nil, errLoading // nothing is known: nothing changes
	w.check(context.Background())
	if got := w.tally(); got.Firing != 1 || got.Fired != 1 {
		t.Fatalf("got %+v after a look that failed", got)
	}
	f.commits = known // what is known counts, although something else is not
	f.commit("billing", "t", 0, 100)
	w.check(context.Background())
	if got := w.tally(); got.Firing != 0 || got.Fired != 1 {
		t.Fatalf("got %+v", got)
	}
	f.err = nil
	f.commit("billing", "t", 0, 0)
	w.check(context.Background())
	f.commits = nil // the group is deleted
	w.check(context.Background())
	if got := w.tally(); got.Firing != 0 || got.Fired != 2 || len(w.alerts[0].states) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestAlertOfTopicsCountsEachOnItsOwn(t *testing.T) {
	f := newFake()
	for _, topic := range []string{"a", "b", "c"} {
		f.log(topic, 0, Bounds{End: 60})
		f.commit("g", topic, 0, 0)
	}
	r := rule("g", 50)
	r.Topic = whole("a|b")
	w := f.watcher(r)
	w.check(context.Background())
	if got := w.tally(); got.Firing != 2 {
		t.Errorf("got %+v", got)
	}
	r = rule("g", 150) // all topics together
	w = f.watcher(r)
	w.check(context.Background())
	if got := w.tally(); got.Firing != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestAlertNeedsEverythingItNames(t *testing.T) {
	f := newFake()
	f.log("t", 0, Bounds{End: 100})
	f.commit("g", "t", 0, 0)
	f.times[place{"t", 0}] = map[int64]stamp{0: {ms: f.nowMs - 5000, ok: true}}
	r := rule("g", 50)
	r.Seconds = 10
	w := f.watcher(r)
	w.check(context.Background())
	if got := w.tally(); got.Firing != 0 {
		t.Errorf("got %+v after 5 s", got)
	}
	f.pass(6 * time.Second)
	w.check(context.Background())
	if got := w.tally(); got.Firing != 1 {
		t.Errorf("got %+v after 11 s", got)
	}
}

func TestWebhookIsToldAndToldAgain(t *testing.T) {
	var posts atomic.Int64
	got := make(chan Event, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if posts.Add(1) <= 2 {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var e Event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil || r.Header.Get("Content-Type") != "application/json" || r.Method != http.MethodPost {
			t.Errorf("%s %v, content type %q", r.Method, err, r.Header.Get("Content-Type"))
		}
		got <- e
	}))
	defer hook.Close()
	f := newFake()
	f.log("t", 0, Bounds{End: 100})
	f.commit("g", "t", 0, 10)
	r := rule("g", 50)
	r.Webhook = hook.URL
	w := f.watcher(r)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go w.alerts[0].sender.run(ctx)
	w.check(ctx)
	e := <-got
	if e.Alert != "behind" || e.State != Firing || e.Group != "g" || e.Records != 90 || *e.Limits.Records != 50 || e.Limits.Seconds != nil || e.Node != 7 || e.Cluster != "c" || !e.Since.Equal(e.Time) {
		t.Errorf("got %+v", e)
	}
	f.pass(time.Minute)
	f.commit("g", "t", 0, 60)
	w.check(ctx)
	if e = <-got; e.State != Cleared || e.Records != 40 || e.Time.Sub(e.Since) != time.Minute {
		t.Errorf("got %+v", e)
	}
	if n := posts.Load(); n != 4 {
		t.Errorf("%d posts", n)
	}
}

func TestWebhookGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		status, posts int
	}{"refused": {404, 1}, "moved": {302, 1}, "never ready": {500, maxPosts}} {
		var posts atomic.Int64
		hook := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			posts.Add(1)
			rw.Header().Set("Location", "/elsewhere")
			rw.WriteHeader(c.status)
		}))
		f := newFake()
		s := newSender("a", hook.URL, &f.watcher().cfg)
		s.deliver(context.Background(), Event{})
		if s.failed.Load() != 1 || s.delivered.Load() != 0 || int(posts.Load()) != c.posts {
			t.Errorf("%s: %d posts, %d failed", name, posts.Load(), s.failed.Load())
		}
		hook.Close()
	}
}

func TestWebhookQueueIsBounded(t *testing.T) {
	f := newFake()
	s := newSender("a", "http://127.0.0.1:1/", &f.watcher().cfg)
	for range maxQueued + 3 {
		s.send(Event{})
	}
	if s.dropped.Load() != 3 {
		t.Errorf("%d dropped", s.dropped.Load())
	}
}

func TestWatcherChecksByItself(t *testing.T) {
	f := newFake()
	f.log("t", 0, Bounds{End: 100})
	f.commit("g", "t", 0, 0)
	cfg := f.watcher(rule("g", 1)).cfg
	cfg.Interval = time.Millisecond
	w := Start(cfg, f, f)
	defer w.Stop()
	for deadline := time.Now().Add(10 * time.Second); w.tally().Firing == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no check came")
		}
		time.Sleep(time.Millisecond)
	}
}
