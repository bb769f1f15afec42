package bench

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench/workload"
)

// compact makes the topics of a load compacted, and returns how many produce requests
// the fake has got.
func (f *fake) compact(o *Options, policy string) *atomic.Int64 {
	o.Spec.TopicConfig = map[string]string{"cleanup.policy": policy}
	n := new(atomic.Int64)
	f.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		n.Add(1)
		return nil, nil, false
	})
	return n
}

func TestRecordsWithoutKeysAreNotSentToACompactedTopic(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		for _, kind := range []workload.Kind{workload.Produce, workload.EndToEnd, workload.Mixed, workload.Fetch} {
			for _, policy := range []string{"compact", "compact,delete"} {
				f := newFake(t)
				o := f.load(kind, engine, "rate", "max")
				sent := f.compact(&o, policy)
				_, err := hurried(t.Context(), o)
				if err == nil || !strings.Contains(err.Error(), "is compacted (cleanup.policy="+policy+"), so brokers refuse records without keys") {
					t.Errorf("%s with %s: %v", kind, engine, err)
				}
				if sent.Load() > 0 || len(f.topics()) > 0 {
					t.Errorf("%s with %s: %d requests sent, topics %v", kind, engine, sent.Load(), f.topics())
				}
			}
		}
	}
}

func TestRecordsWithKeysAreSentToACompactedTopic(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		f := newFake(t)
		o := f.load(workload.Produce, engine, "keys", "uniform:10")
		sent := f.compact(&o, "compact")
		if d := f.run(o); !d.Verdict.OK || sent.Load() == 0 {
			t.Errorf("%s: %v, %d requests", engine, d.Verdict.Reasons, sent.Load())
		}
	}
}

func TestRecordsWithoutKeysAreNotSentToSomebodysCompactedTopic(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := f.load(workload.Produce, workload.Replay)
	sent := f.compact(&o, "compact")
	policy := "compact"
	if _, err := f.admin.CreateTopics(t.Context(), 3, 1, map[string]*string{"cleanup.policy": &policy}, "orders"); err != nil {
		t.Fatal(err)
	}
	o.Spec.Topic, o.Spec.TopicConfig, o.Existing = "orders", nil, true
	if _, err := hurried(t.Context(), o); err == nil || !strings.Contains(err.Error(), `topic "orders" is compacted`) || sent.Load() > 0 {
		t.Errorf("%v, %d requests", err, sent.Load())
	}
}
