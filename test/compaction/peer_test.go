package compaction

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/test/harness"
)

var peer = flag.String("peer", "", "address of another broker (Kafka with a low log.cleaner.backoff.ms) that is to leave the same records")

// The same batches, compacted here and by another broker, leave the same
// records, tombstones whose time has come included.
func TestSurvivorsAreThoseOfAnotherBroker(t *testing.T) {
	if *peer == "" {
		t.Skip("-peer names no broker to compare with")
	}
	b := harness.StartOwn(t, harness.Options{Overrides: []string{"log.cleaner.backoff.ms=50", "ringmain.sync.ms=100"}})
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression()} {
		ours, theirs := survivors(t, b.Addr(), codec), survivors(t, *peer, codec)
		t.Logf("%d records here, %d there", len(ours), len(theirs))
		if len(ours) >= 9000 {
			t.Error("nothing was compacted")
		}
		for i := range max(len(ours), len(theirs)) {
			if i >= len(ours) || i >= len(theirs) || ours[i] != theirs[i] {
				t.Errorf("record %d is %s here and %s there", i, at(ours, i), at(theirs, i))
				break
			}
		}
	}
}

func at(list []string, i int) string {
	if i >= len(list) {
		return "missing"
	}
	return list[i]
}

// survivors produces the same on any broker and lists what is left when nothing
// changes any more.
func survivors(t *testing.T, addr string, codec kgo.CompressionCodec) (out []string) {
	t.Helper()
	cl := client(t, addr, kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(time.Second), kgo.ProducerBatchMaxBytes(900_000))
	defer cl.Close()
	admin := kadm.NewClient(cl)
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	defer cancel()
	create(t, cl, map[string]string{"delete.retention.ms": "1000"})
	defer admin.DeleteTopics(ctx, topic)
	noise := uint64(1)
	rank, end := 0, int64(0)
	phase := func(batches, keys int) {
		for range batches {
			for range 100 { // one batch: it is flushed before the next begins
				rank++
				var value strings.Builder
				for value.Len() < 700 { // what gzip cannot make small
					noise = noise*6364136223846793005 + 1442695040888963407
					fmt.Fprintf(&value, "%016x", noise)
				}
				r := &kgo.Record{Key: fmt.Appendf(nil, "key-%d", (rank*rank+3*rank)%keys), Value: []byte(value.String()), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(rank))}
				if rank%23 == 0 {
					r.Value = nil
				}
				cl.Produce(ctx, r, func(r *kgo.Record, err error) {
					if err != nil {
						t.Errorf("producing to %s: %v", addr, err)
						return
					}
					end = max(end, r.Offset+1)
				})
			}
			if err := cl.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	settle := func() {
		for last, since := "", time.Now(); time.Since(since) < 4*time.Second; time.Sleep(300 * time.Millisecond) {
			out = out[:0]
			for _, r := range read(t, addr, 0, end) {
				out = append(out, fmt.Sprintf("%d at %d %.40s", r.Offset, r.Timestamp.UnixMilli(), describe(r)))
			}
			if now := strings.Join(out, "\n"); now != last {
				last, since = now, time.Now()
			}
		}
	}
	phase(50, 997)
	settle()
	phase(40, 499) // and new passes, which find the tombstones' time over
	settle()
	return out
}
