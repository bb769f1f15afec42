package broker

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/record"
	"ringmain/segment"
)

// A producer that was silent for a day when the broker was started is not known any more:
// what it sends again is new.
func TestAStartForgetsSilentProducers(t *testing.T) {
	for silent, want := range map[time.Duration]int64{23 * time.Hour: 0, 25 * time.Hour: 1} {
		l := newLive(t, nil)
		l.create("t")
		b := record.NewBuilder()
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = 7, 0, 0
		req := produceRequest(-1, "t", b.Add(time.Now().UnixMilli(), nil, []byte("v")).Build())
		offset := func() int64 {
			p := l.dial().ask(9, req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
			if p.ErrorCode != 0 {
				t.Fatalf("error %d", p.ErrorCode)
			}
			return p.BaseOffset
		}
		if first, again := offset(), offset(); first != 0 || again != 0 {
			t.Fatalf("offsets %d and %d, want 0 twice", first, again)
		}
		dir := l.dir.Path()
		l.close()
		snapshots, _ := filepath.Glob(filepath.Join(dir, "t-0", "*.snapshot"))
		logs, _ := filepath.Glob(filepath.Join(dir, "t-0", "*.log"))
		if len(snapshots) != 1 || len(logs) != 1 {
			t.Fatalf("%d snapshots and %d segments", len(snapshots), len(logs))
		}
		if err := os.Remove(snapshots[0]); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(logs[0], time.Time{}, time.Now().Add(-silent)); err != nil {
			t.Fatal(err)
		}
		l = startLive(t, dir, l.meta, segment.NewPwritevIO())
		if got := offset(); got != want {
			t.Errorf("silent for %v: the same again has offset %d, want %d", silent, got, want)
		}
		l.close()
	}
}
