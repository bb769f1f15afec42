package crash

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/test/harness"
)

// A partition without a record keeps its next offset for ever, whether its records were
// deleted on request or by retention, over kills and clean stops.
func TestEmptiedPartitionKeepsItsNextOffset(t *testing.T) {
	t.Parallel()
	b := harness.StartOwn(t, harness.Options{Overrides: []string{"log.retention.check.interval.ms=20", "log.segment.delete.delay.ms=0"}})
	const records = 10
	topics := []string{"deleted", "expired"}
	cl := client(t, b.Addr(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	adm := kadm.NewClient(cl)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	produce := func(topic string, want int64) {
		t.Helper()
		r, err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: value(0, int(want))}).First()
		if err != nil || r.Offset != want {
			t.Fatalf("%s: a record got offset %d, want %d; %v", topic, r.Offset, want, err)
		}
	}
	for _, topic := range topics {
		createTopic(t, b.Addr(), topic, 1)
		for i := range records {
			produce(topic, int64(i))
		}
	}
	empty := func(offset int64) {
		t.Helper()
		var offsets kadm.Offsets
		offsets.AddOffset(topics[0], 0, -1, -1)
		rs, err := adm.DeleteRecords(ctx, offsets)
		if r, ok := rs.Lookup(topics[0], 0); err != nil || !ok || r.Err != nil || r.LowWatermark != offset {
			t.Fatalf("DeleteRecords: low watermark %d, want %d; %v, %v", r.LowWatermark, offset, err, r.Err)
		}
		short := "1"
		if _, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: &short}}, topics[1]); err != nil {
			t.Fatal(err)
		}
		for _, topic := range topics {
			waitUntil(t, 30*time.Second, topic+" has no segment any more", func() bool {
				files, err := filepath.Glob(filepath.Join(b.DataDir(), topic+"-0", "*.log"))
				return err == nil && len(files) == 0
			})
		}
	}
	check := func(when string, offset int64) {
		t.Helper()
		starts, err := adm.ListStartOffsets(ctx, topics...)
		if err != nil {
			t.Fatal(err)
		}
		ends, err := adm.ListEndOffsets(ctx, topics...)
		if err != nil {
			t.Fatal(err)
		}
		for _, topic := range topics {
			if s, e := starts[topic][0], ends[topic][0]; s.Err != nil || e.Err != nil || s.Offset != offset || e.Offset != offset {
				t.Errorf("%s: %s has offsets %d to %d, want %d to %d; %v, %v", when, topic, s.Offset, e.Offset, offset, offset, s.Err, e.Err)
			}
		}
	}
	empty(records)
	check("emptied", records)
	for range 3 {
		b.Kill()
		if err := b.Restart(); err != nil {
			t.Fatal(err)
		}
		check("after a kill", records)
	}
	for range 2 {
		if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := b.Restart(); err != nil {
			t.Fatal(err)
		}
		check("after a clean stop", records)
	}
	produce(topics[0], records)
	produce(topics[1], records)
	empty(records + 1)
	b.Kill()
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	check("emptied again and killed", records+1)
	produce(topics[0], records+1)
	produce(topics[1], records+1)
}
