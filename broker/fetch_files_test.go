package broker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/segment"
)

// One fetch over many partitions holds a share of the open files at most; the partitions
// that it leaves out come with the next ones, those of a session in turn.
func TestOneFetchHoldsAShareOfTheOpenFiles(t *testing.T) {
	l := newLive(t, nil)
	const open, topics = 16, 11
	budget := segment.NewFileBudget(open)
	l.dir.UseFileBudget(budget)
	c := l.dial()
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxBytes, req.MinBytes, req.MaxWaitMillis, req.SessionEpoch = -1, 1<<20, 1<<20, int32(time.Hour.Milliseconds()), 0
	for i := range topics {
		name := string(rune('a' + i))
		l.create(name)
		if p := c.ask(7, produceRequest(-1, name, batchOf("x"))).(*kmsg.ProduceResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 {
			t.Fatalf("produce to %s: code %d", name, p.ErrorCode)
		}
		req.Topics = append(req.Topics, fetchRequest(name, 0, 0).Topics[0])
	}
	seen := map[string]bool{}
	for want := topics; want > 0; {
		resp := c.ask(11, req).(*kmsg.FetchResponse)
		if resp.ErrorCode != 0 {
			t.Fatalf("code %d", resp.ErrorCode)
		}
		given := 0
		var next []kmsg.FetchRequestTopic
		for _, rt := range resp.Topics {
			p := &rt.Partitions[0]
			if p.ErrorCode != 0 || p.HighWatermark != 1 {
				t.Errorf("%s: code %d, high watermark %d", rt.Topic, p.ErrorCode, p.HighWatermark)
			}
			if len(p.RecordBatches) == 0 {
				continue
			}
			if seen[rt.Topic] {
				t.Errorf("%s is given again while others wait", rt.Topic)
			}
			seen[rt.Topic] = true
			given++
			next = append(next, fetchRequest(rt.Topic, 1, 0).Topics[0])
		}
		if given != min(want, open/fetchFileShare) {
			t.Fatalf("%d partitions give records, want %d", given, min(want, open/fetchFileShare))
		}
		want -= given
		req.SessionID, req.SessionEpoch, req.Topics = resp.SessionID, req.SessionEpoch+1, next
		if want < open/fetchFileShare {
			req.MinBytes = 1
		}
	}
	if n := budget.Open(); n > open {
		t.Errorf("%d files are open, want at most %d", n, open)
	}
}
