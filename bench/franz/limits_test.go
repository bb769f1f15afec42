package franz

import (
	"strings"
	"testing"
	"time"

	"ringmain/bench/audit"
	"ringmain/bench/load"
	"ringmain/bench/workload"
)

func TestWhatCannotBeDoneIsRefused(t *testing.T) {
	book, err := audit.NewBook(audit.Config{Run: 1, Producers: 8, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind   workload.Kind
		change func(env *load.Env)
		says   string // "" is fine
	}{
		{workload.Produce, func(*load.Env) {}, ""},
		{workload.Mixed, func(*load.Env) {}, ""},
		{workload.Storm, func(env *load.Env) { env.Partitions = nil }, ""},
		{workload.Produce, func(env *load.Env) { env.Partitions = nil }, "needs a partition"},
		{workload.Produce, func(env *load.Env) { env.Spec.Idempotent, env.Spec.Acks = true, 1 }, "needs acks all, not 1"},
		{workload.Produce, func(env *load.Env) { env.Spec.Idempotent, env.Spec.InFlight = true, 2 }, "up to 5 requests in flight when it is idempotent, not 2; use in_flight 5"},
		{workload.Produce, func(env *load.Env) { env.Spec.Record = workload.Fixed(35) }, ""},
		{workload.Produce, func(env *load.Env) { env.Book, env.Spec.Record = book, workload.Fixed(35) }, "shorter than the 36 bytes of a stamp"},
		{workload.EndToEnd, func(*load.Env) {}, "needs the account"},
		{workload.EndToEnd, func(env *load.Env) { env.Book = book }, ""},
		{workload.Fetch, func(env *load.Env) { env.Partitions[0].End = 5 }, ""},
		{workload.Fetch, func(*load.Env) {}, "all 1 partitions are empty"},
		{workload.Fetch, func(env *load.Env) { env.Spec.FetchMode, env.Spec.Rate.Records = workload.Tail, 100 }, "cannot keep to the rate 100"},
		{workload.Fetch, func(env *load.Env) { env.Spec.FetchMode, env.Spec.InFlight = workload.Tail, 3 }, "one fetch in flight on a connection, not 3"},
		{workload.Mixed, func(env *load.Env) { env.Spec.FetchMaxWait = time.Millisecond }, "10ms or longer, not 1ms"},
		{workload.Idle, func(env *load.Env) { env.Spec.Duration = time.Hour }, "at most 14m0s"},
	} {
		env := &load.Env{Spec: workload.Defaults(c.kind), Partitions: []load.Partition{{Topic: testTopic}}, Meter: &load.Meter{}}
		c.change(env)
		_, err := New(env)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: got %v, want %q", c.kind, err, c.says)
		}
	}
}
