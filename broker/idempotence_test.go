package broker

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/record"
	"ringmain/segment"
)

// Without an answer (acks=0) a batch out of sequence closes the connection, and nothing
// that was sent behind it is served.
func TestNothingIsServedBehindABatchOutOfSequence(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	sequence := func(first int32) []byte {
		b := record.NewBuilder()
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = 7, 0, first
		return b.Add(time.Now().UnixMilli(), nil, []byte("v")).Build()
	}
	pipelined := func(first int32) (behind *kmsg.ProduceResponse, err error) {
		c := l.dial()
		behindIt := produceRequest(-1, "t", batchOf("x"))
		var both bytes.Buffer
		for i, req := range []kmsg.Request{produceRequest(0, "t", sequence(first)), behindIt} {
			req.SetVersion(7)
			both.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, int32(i)))
		}
		if _, err := c.Write(both.Bytes()); err != nil {
			t.Fatal(err)
		}
		resp, err := c.receive(behindIt)
		if err != nil {
			return nil, err
		}
		return resp.(*kmsg.ProduceResponse), nil
	}
	offset := func(resp *kmsg.ProduceResponse) int64 { return resp.Topics[0].Partitions[0].BaseOffset }
	for i := range int64(20) {
		resp, err := pipelined(int32(i))
		if err != nil || offset(resp) != 2*i+1 {
			t.Fatalf("behind a batch in sequence: %+v, %v; want offset %d", resp, err, 2*i+1)
		}
		if resp, err := pipelined(int32(i + 5)); err == nil {
			t.Fatalf("behind a batch out of sequence: offset %d", offset(resp))
		}
	}
	if got := offset(l.dial().ask(7, produceRequest(-1, "t", batchOf("x"))).(*kmsg.ProduceResponse)); got != 40 {
		t.Errorf("the next offset is %d, want 40", got)
	}
}

// Nor is anything served behind a produce with acks=0 of which only a part is refused.
func TestNothingIsServedBehindARefusedPart(t *testing.T) {
	l := newLive(t, nil)
	l.create("t")
	behindIt := produceRequest(-1, "t", batchOf("x"))
	for range 20 {
		part := produceRequest(0, "t", batchOf("y"))
		part.Topics = append(part.Topics, produceRequest(0, "unknown", batchOf("y")).Topics...)
		var both bytes.Buffer
		for i, req := range []kmsg.Request{part, behindIt} {
			req.SetVersion(7)
			both.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, int32(i)))
		}
		c := l.dial()
		if _, err := c.Write(both.Bytes()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.receive(behindIt); err == nil {
			t.Fatal("what was sent behind it is answered")
		}
	}
	if got := l.dial().ask(7, behindIt).(*kmsg.ProduceResponse).Topics[0].Partitions[0].BaseOffset; got != 20 {
		t.Errorf("the next offset is %d, want 20", got)
	}
}

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
