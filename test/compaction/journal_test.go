package compaction

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/test/harness"
)

// Records that are durable in a journal only are compacted when they have waited for
// max.compaction.lag.ms, with no traffic that would roll their segment or have its
// own file synced.
func TestCompactionBehindAJournal(t *testing.T) {
	b := harness.StartOwn(t, harness.Options{HTTP: "127.0.0.1:0", Overrides: []string{"log.cleaner.backoff.ms=50", "ringmain.appenders=1", "ringmain.journal.bytes=67108864"}})
	const partitions, size = 8, 1000
	cl := client(t, b.Addr(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(5*time.Millisecond))
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	configs := map[string]*string{"cleanup.policy": kadm.StringPtr("compact"), "max.compaction.lag.ms": kadm.StringPtr("3000")}
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, configs, topic); err != nil {
		t.Fatal(err)
	}
	value := []byte(strings.Repeat("v", size))
	produce := func(i, records int) {
		for p := range int32(partitions) {
			for k := range records {
				cl.Produce(ctx, &kgo.Record{Topic: topic, Partition: p, Key: fmt.Appendf(nil, "key-%d", (i+k)%50), Value: value}, func(_ *kgo.Record, err error) {
					if err != nil {
						t.Errorf("producing: %v", err)
					}
				})
			}
		}
		if err := cl.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	// The journal is made beside the first commits that want one, and takes the
	// later ones.
	waitUntil(t, "there is a journal", func() bool {
		produce(0, 1)
		st, err := os.Stat(b.DataDir() + "/ringmain-journal-0")
		return err == nil && st.Size() >= 64<<20
	})
	for range 50 {
		produce(0, 1)
	}
	for i := range 55 {
		produce(i, 40)
	}
	waitUntil(t, "every partition is compacted", func() bool {
		return metric(t, b, "ringmain_cleaner_runs_total") >= partitions && metric(t, b, "ringmain_log_bytes") < partitions*100*size
	})
	if n := metric(t, b, "ringmain_cleaner_failures_total"); n != 0 {
		t.Errorf("%v passes failed", n)
	}
}
