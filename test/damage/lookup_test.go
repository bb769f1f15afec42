package damage

import (
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/record"
	"ringmain/test/harness"
	"ringmain/test/peer"
)

// A segment is missing. A lookup by time answers what lies before it, and of what may have
// been in it says what a fetch there says.
func TestLookupByTimeOfALostSegment(t *testing.T) {
	for _, kill := range []bool{false, true} {
		dir := filled(t, kill)
		remove(t, filepath.Join(dir, nth(parts[0], ".log", 2)(t, dir)))
		b := harness.StartOwn(t, harness.Options{DataDir: dir, Overrides: overrides})
		c := dial(t, b.Addr())
		const from, to = 20 * recordsEach, 30 * recordsEach
		first := fetch(t, c, parts[0], 0)
		if first.ErrorCode != 0 {
			t.Fatalf("fetch: code %d", first.ErrorCode)
		}
		begin := timeOf(t, first.RecordBatches)
		for _, batch := range []int64{0, 7, 19, 20, 25, 30, 39, 100} {
			at, code := lookUp(t, c, parts[0], begin+batch*10)
			read := fetch(t, c, parts[0], min(batch*recordsEach, from)).ErrorCode
			if code != read || code == 0 && at != batch*recordsEach {
				t.Errorf("kill %v: the time of batch %d: offset %d, code %d; a fetch of what is lost gives %d", kill, batch, at, code, read)
			}
			if lost := batch >= 20; lost != (code == kerr.CorruptMessage.Code) {
				t.Errorf("kill %v: the time of batch %d: code %d; batches 20 to 29 are lost, at %d to %d", kill, batch, code, from, to)
			}
			if at, code := lookUp(t, c, parts[1], begin+100_000+min(batch, 39)*10); code != 0 || at != min(batch, 39)*recordsEach {
				t.Errorf("kill %v: %v is whole: offset %d, code %d", kill, parts[1], at, code)
			}
		}
	}
}

// lookUp is ListOffsets by a time.
func lookUp(t *testing.T, c *peer.Conn, p part, ts int64) (offset int64, code int16) {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.SetVersion(5)
	req.ReplicaID = -1
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = p.index, ts, -1
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic, rt.Partitions = p.topic, []kmsg.ListOffsetsRequestTopicPartition{rp}
	req.Topics = append(req.Topics, rt)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("list offsets of %v: %v", p, err)
	}
	got := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	return got.Offset, got.ErrorCode
}

// timeOf is the base timestamp of the first batch.
func timeOf(t *testing.T, batches []byte) int64 {
	t.Helper()
	b, err := record.First(batches)
	if err != nil {
		t.Fatal(err)
	}
	return b.MaxTimestamp() - (recordsEach - 1)
}
