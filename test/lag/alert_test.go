package lag

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"ringmain/test/harness"
)

// TestAlert: it tells a webhook once when a group falls behind, and once when it has
// caught up; its address is not shown to anybody.
func TestAlert(t *testing.T) {
	hook := newHook(t, nil, takes)
	const key = "ringmain.lag.alert.slow."
	w := newWatched(t, nil, key+"group=bill.*", key+"records=10", key+"webhook="+hook.URL+"/T0KEN")
	posts := 0
	next := func(state string, records int64) {
		t.Helper()
		posts++
		until(t, "a post of "+state, func() bool { return len(hook.told("billing")) >= posts })
		if e := hook.told("billing")[posts-1]; e.Alert != "slow" || e.State != state || e.Records != records || e.Node != 1 {
			t.Errorf("got %+v", e)
		}
	}
	w.produce(20, time.Now())
	w.commit("other", 0)
	w.commit("billing", 0)
	next("firing", 20)
	if v, _ := w.series("ringmain_lag_alerts_firing", `{alert="slow"}`); v != 1 {
		t.Errorf("%v are firing", v)
	}
	w.commit("billing", 15)
	next("cleared", 5)
	until(t, "the metrics have both", func() bool {
		firing, _ := w.series("ringmain_lag_alerts_firing", `{alert="slow"}`)
		fired, _ := w.series("ringmain_lag_alerts_total", `{alert="slow"}`)
		delivered, _ := w.series("ringmain_lag_alert_posts_total", `{alert="slow",result="delivered"}`)
		return firing == 0 && fired == 1 && delivered == 2
	})
	if log := w.broker.Stderr(); !strings.Contains(log, "a group is behind") || !strings.Contains(log, "a group has caught up") || strings.Contains(log, "T0KEN") {
		t.Errorf("the log says\n%s", log)
	}
	configs, err := w.adm.DescribeBrokerConfigs(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, c := range configs[0].Configs {
		if strings.HasPrefix(c.Key, key) {
			shown++
		}
		if c.Key == key+"webhook" && (c.Value != nil || !c.Sensitive) || strings.Contains(fmt.Sprint(c.MaybeValue(), c.Synonyms), "T0KEN") {
			t.Errorf("got %+v", c)
		}
	}
	if shown != 3 {
		t.Errorf("%d keys of the alert are shown", shown)
	}
	evil := "http://127.0.0.1:1/"
	altered, err := w.adm.AlterBrokerConfigs(context.Background(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: key + "webhook", Value: &evil}}, 1)
	if err == nil && altered[0].Err == nil {
		t.Error("the address of a webhook was set over the wire")
	}
}

// TestAnAlertThatHoldsIsToldAgain after a restart, and cleared once.
func TestAnAlertThatHoldsIsToldAgain(t *testing.T) {
	hook := newHook(t, nil, takes)
	const key = "ringmain.lag.alert.slow."
	w := newWatched(t, nil, key+"group=billing", key+"records=10", key+"webhook="+hook.URL)
	w.produce(20, time.Now())
	w.commit("billing", 0)
	told := func(states ...string) {
		t.Helper()
		until(t, fmt.Sprintf("posts of %v", states), func() bool { return len(hook.told("billing")) >= len(states) })
		for i, e := range hook.told("billing") {
			if i >= len(states) || e.State != states[i] {
				t.Fatalf("got %+v; want %v", hook.told("billing"), states)
			}
		}
	}
	told("firing")
	if err := w.broker.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := w.broker.Restart(); err != nil {
		t.Fatal(err)
	}
	told("firing", "firing")
	w.broker.Kill()
	if err := w.broker.Restart(); err != nil {
		t.Fatal(err)
	}
	told("firing", "firing", "firing")
	w.commit("billing", 20)
	told("firing", "firing", "firing", "cleared")
}

// TestWebhooksThatFail: a post that was not taken comes again; a webhook that hangs holds up
// no other one, and not the broker's stop.
func TestWebhooksThatFail(t *testing.T) {
	stuck := make(chan struct{})
	hangs := newHook(t, nil, func(int) int { <-stuck; return http.StatusGone })
	defer close(stuck)
	recovers := newHook(t, nil, func(n int) int {
		if n < 3 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	late, err := net.Listen("tcp", "127.0.0.1:0") // refuses: nobody listens there at first
	if err != nil {
		t.Fatal(err)
	}
	late.Close()
	var overrides []string
	for name, url := range map[string]string{"hangs": hangs.URL, "recovers": recovers.URL, "late": "http://" + late.Addr().String(),
		"forbids": newHook(t, nil, func(int) int { return http.StatusForbidden }).URL} {
		key := "ringmain.lag.alert." + name + "."
		overrides = append(overrides, key+"group=billing", key+"records=10", key+"webhook="+url+"/T0KEN")
	}
	w := newWatched(t, nil, overrides...)
	w.produce(20, time.Now())
	w.commit("billing", 0)
	until(t, "a post after two answers of 500", func() bool { return len(recovers.told("billing")) == 1 })
	if late, err = net.Listen("tcp", late.Addr().String()); err != nil {
		t.Fatal(err)
	}
	opened := newHook(t, late, takes)
	until(t, "a post where nobody listened", func() bool { return len(opened.told("billing")) == 1 })
	posts := func(alert, result string) float64 {
		v, _ := w.series("ringmain_lag_alert_posts_total", `{alert="`+alert+`",result="`+result+`"}`)
		return v
	}
	until(t, "the metrics say what became of the posts", func() bool {
		return posts("recovers", "delivered") == 1 && posts("late", "delivered") == 1 && posts("forbids", "failed") == 1
	})
	if posts("hangs", "delivered")+posts("hangs", "failed") != 0 {
		t.Error("a post that hangs has come to an end")
	}
	begun := time.Now()
	if err := w.broker.Stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 8*time.Second { // a post waits for 10 s
		t.Errorf("the stop took %v", took)
	}
	if log := w.broker.Stderr(); !strings.Contains(log, "403 Forbidden") || strings.Contains(log, "T0KEN") {
		t.Errorf("the log says\n%s", log)
	}
}

// TestABadAlertStopsTheStart with exit code 2 and a sentence that names it.
func TestABadAlertStopsTheStart(t *testing.T) {
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	const key = "ringmain.lag.alert.slow."
	for set, text := range map[string]string{
		key + "group=(":            "regular expression",
		key + "group=a":            "never fires",
		key + "records=many":       "many",
		key + "webhoook=T0KEN":     "webhoook",
		key + "growing.for.ms=100": "4000 to 604800000",
		key + "records=1 " + key + "group=a " + key + "webhook=T0KEN": "it is no URL",
		"ringmain.lag.check.interval.ms=1":                            "100 to 3600000",
	} {
		args := []string{"serve", "--data-dir", t.TempDir() + "/d", "--listen", "127.0.0.1:0", "--http", "off"}
		for _, kv := range strings.Fields(set) {
			args = append(args, "--override", kv)
		}
		out, err := exec.Command(bin, args...).CombinedOutput()
		exit, ok := err.(*exec.ExitError)
		if !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), text) || strings.Contains(string(out), "T0KEN") {
			t.Errorf("%s: %v: %s", set, err, out)
		}
	}
}
