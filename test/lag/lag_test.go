package lag

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/harness"
)

// patience is how long anything here may take on a busy machine.
const patience = 30 * time.Second

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("this did not come about: %s", what)
		}
	}
}

// watched is a broker with its HTTP port, a client, and a topic of one partition.
type watched struct {
	t      *testing.T
	broker *harness.Broker
	cl     *kgo.Client
	adm    *kadm.Client
}

func newWatched(t *testing.T, configs map[string]*string, overrides ...string) *watched {
	t.Helper()
	b := harness.StartOwn(t, harness.Options{HTTP: "127.0.0.1:0", Overrides: append(overrides, "ringmain.lag.check.interval.ms=100")})
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	w := &watched{t, b, cl, kadm.NewClient(cl)}
	if _, err := w.adm.CreateTopic(context.Background(), 1, 1, configs, "orders"); err != nil {
		t.Fatal(err)
	}
	return w
}

// produce writes n records with a timestamp.
func (w *watched) produce(n int, at time.Time) {
	w.t.Helper()
	for range n {
		if err := w.cl.ProduceSync(context.Background(), &kgo.Record{Value: []byte("v"), Timestamp: at}).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// commit is what a consumer of orders that has read so far does.
func (w *watched) commit(group string, offset int64) {
	w.t.Helper()
	w.commitIn("orders", group, offset)
}

func (w *watched) commitIn(topic, group string, offset int64) {
	w.t.Helper()
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, offset, -1)
	until(w.t, "a commit", func() bool {
		r, err := w.adm.CommitOffsets(context.Background(), group, offsets)
		return err == nil && r.Ok()
	})
}

func (w *watched) get(path string) (status int, kind, body string) {
	w.t.Helper()
	resp, err := http.Get("http://" + w.broker.Ready("http") + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(b)
}

// series is the value of one series in a scrape.
func (w *watched) series(name, labels string) (float64, bool) {
	w.t.Helper()
	_, _, body := w.get("/metrics")
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name+labels) + ` (\S+)$`).FindStringSubmatch(body)
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	return v, err == nil
}

const billing = `{group="billing",partition="0",topic="orders"}`

// seconds is what the metrics and REST both say of group billing.
func (w *watched) seconds() float64 {
	w.t.Helper()
	v, ok := w.series("ringmain_group_lag_seconds", billing)
	if !ok {
		w.t.Fatal("there is no lag in seconds")
	}
	return v
}

// TestAConsumerThatFallsBehind: metrics, REST and the command line agree on it.
func TestAConsumerThatFallsBehind(t *testing.T) {
	w := newWatched(t, nil)
	w.produce(30, time.Now())
	w.commit("billing", 12)
	w.commit("reset", -2) // no offset: it will begin at the start of the log
	if _, ok := w.series("ringmain_group_lag_records", `{group="reset",partition="0",topic="orders"}`); ok {
		t.Error("a group without an offset has a series")
	}
	if v, ok := w.series("ringmain_group_lag_records", billing); !ok || v != 18 {
		t.Errorf("the metrics say %v, %v", v, ok)
	}
	status, kind, body := w.get("/v1/groups/billing/lag")
	var lag struct {
		Group   string  `json:"group"`
		Records int64   `json:"lag_records"`
		Seconds float64 `json:"lag_seconds"`
		Topics  []struct {
			Topic      string `json:"topic"`
			Partitions []struct {
				Committed int64 `json:"committed_offset"`
				End       int64 `json:"high_watermark"`
			} `json:"partitions"`
		} `json:"topics"`
	}
	if err := json.Unmarshal([]byte(body), &lag); err != nil || status != 200 || kind != "application/json" {
		t.Fatalf("status %d, %s, %v: %s", status, kind, err, body)
	}
	if lag.Records != 18 || lag.Seconds <= 0 || lag.Topics[0].Partitions[0].Committed != 12 || lag.Topics[0].Partitions[0].End != 30 {
		t.Errorf("got %s", body)
	}
	if _, _, body := w.get("/v1/groups"); !strings.Contains(body, `"group":"billing"`) || !strings.Contains(body, `"lag_records":18`) {
		t.Errorf("got %s", body)
	}
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(bin, "group", "describe", "billing", "--output", "json", "--bootstrap", w.broker.Addr()).Output()
	if err != nil || !bytes.Contains(out, []byte(`"lag": 18`)) {
		t.Errorf("%v: %s", err, out)
	}
	if status, kind, body := w.get("/v1/groups/nobody/lag"); status != 404 || kind != "application/problem+json" || !strings.Contains(body, "GROUP_ID_NOT_FOUND") {
		t.Errorf("status %d, %s: %s", status, kind, body)
	}
	w.commit("billing", 30)
	if v, _ := w.series("ringmain_group_lag_records", billing); v != 0 || w.seconds() != 0 {
		t.Errorf("it has caught up, and %v records and %v seconds are left", v, w.seconds())
	}
	if _, err := w.adm.DeleteGroups(context.Background(), "billing"); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.series("ringmain_group_lag_records", billing); ok {
		t.Error("a deleted group has a series")
	}
}

// TestLagInSecondsDoesNotBelieveProducers: records that say they are a day old, and
// tomorrow's, came when they came.
func TestLagInSecondsDoesNotBelieveProducers(t *testing.T) {
	w := newWatched(t, nil, "ringmain.lag.alert.seen.group=.*", "ringmain.lag.alert.seen.records=0")
	w.produce(1, time.Now())
	w.commit("billing", 0)
	// The check that finds the group behind has noted where the log ends before.
	until(t, "a check", func() bool {
		fired, _ := w.series("ringmain_lag_alerts_total", `{alert="seen"}`)
		return fired == 1
	})
	begun := time.Now()
	w.produce(1, begun.Add(-24*time.Hour))
	w.produce(1, begun.Add(30*time.Minute))
	for offset := int64(1); offset < 3; offset++ {
		w.commit("billing", offset)
		if s, most := w.seconds(), time.Since(begun).Seconds()+1; s < 0 || s > most {
			t.Errorf("at offset %d: %v seconds, and at most %v have passed", offset, s, most)
		}
	}
}

// TestLagInSecondsByTheBrokersTime: with LogAppendTime the age of what was there before
// a restart is exact.
func TestLagInSecondsByTheBrokersTime(t *testing.T) {
	w := newWatched(t, map[string]*string{"message.timestamp.type": kmsg.StringPtr("LogAppendTime")})
	before := time.Now()
	w.produce(2, time.Unix(1, 0))
	w.commit("billing", 0)
	if err := w.broker.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := w.broker.Restart(); err != nil {
		t.Fatal(err)
	}
	until(t, "the coordinator has loaded", func() bool {
		_, ok := w.series("ringmain_group_lag_seconds", billing)
		return ok
	})
	if s, most := w.seconds(), time.Since(before).Seconds()+0.1; s > most || s < most-10 {
		t.Errorf("%v seconds; %v have passed", s, most)
	}
}
