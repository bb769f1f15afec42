package bench

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench/workload"
	"ringmain/record"
)

// skip has the fake answer fetches with batches of ten records that lack every second
// ten.
func (f *fake) skip() {
	f.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		for _, topic := range req.(*kmsg.FetchRequest).Topics {
			rt := kmsg.NewFetchResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				b := record.NewBuilder()
				for range 10 {
					b.Add(1, nil, make([]byte, 100))
				}
				batch := b.Build()
				batch.Stamp(p.FetchOffset-p.FetchOffset%20+20, 0)
				rp := kmsg.NewFetchResponseTopicPartition()
				rp.Partition, rp.HighWatermark, rp.LastStableOffset, rp.RecordBatches = p.Partition, 1<<20, 1<<20, batch
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
}

// A broker that leads fetches past records spoils the verdict, unless the topic is
// compacted: then offsets may lack records, and nobody can say which.
func TestRecordsThatFetchesAreLedPastSpoilTheVerdict(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		for _, mode := range []string{workload.CatchUp, workload.Random} {
			f := newFake(t)
			f.skip()
			o := f.load(workload.Fetch, engine, "fetch_mode", mode, "rate", "max")
			d := f.run(o)
			if reasons := strings.Join(d.Verdict.Reasons, "; "); d.Verdict.OK || !strings.Contains(reasons, "records are missing between those that were fetched, first among the offsets") {
				t.Errorf("%s, %s: %v", engine, mode, reasons)
			}
			if a := d.Audit; a == nil || a.Lost == 0 || a.Acked != a.Seen+a.Lost {
				t.Errorf("%s, %s: %+v", engine, mode, a)
			}
			o = f.load(workload.Fetch, engine, "fetch_mode", mode, "rate", "max", "keys", "uniform:10")
			o.Spec.TopicConfig = map[string]string{"cleanup.policy": "compact"}
			d = f.run(o)
			if !d.Verdict.OK || d.Audit != nil || !strings.Contains(strings.Join(d.Warnings, "; "), "is compacted, so it may lack any") {
				t.Errorf("%s, %s, compacted: %v, %+v, warnings %v", engine, mode, d.Verdict.Reasons, d.Audit, d.Warnings)
			}
		}
	}
}

// Where nothing is missing, what was read is accounted for, and nothing is wrong.
func TestFetchesOfAWholeTopicAreAccountedFor(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		for _, mode := range []string{workload.CatchUp, workload.Random} {
			f := newFake(t)
			d := f.run(f.load(workload.Fetch, engine, "fetch_mode", mode, "rate", "max"))
			if a := d.Audit; !d.Verdict.OK || a == nil || a.Lost != 0 || a.Seen == 0 {
				t.Errorf("%s, %s: %v, %+v", engine, mode, d.Verdict.Reasons, a)
			}
		}
	}
}

// Who is not told whether a topic is compacted says that gaps are not looked for.
func TestGapsAreNotJudgedWhereNobodySaysWhatTheTopicIs(t *testing.T) {
	f := newFake(t)
	f.skip()
	f.ControlKey(int16(kmsg.DescribeConfigs), func(req kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, r := range req.(*kmsg.DescribeConfigsRequest).Resources {
			one := kmsg.NewDescribeConfigsResponseResource()
			one.ResourceType, one.ResourceName, one.ErrorCode = r.ResourceType, r.ResourceName, 29
			resp.Resources = append(resp.Resources, one)
		}
		return resp, nil, true
	})
	d := f.run(f.load(workload.Fetch, workload.Replay, "rate", "max"))
	if text := strings.Join(d.Warnings, "; "); !d.Verdict.OK || d.Audit != nil || !strings.Contains(text, "gaps between the offsets that are read are not looked for") || !strings.Contains(text, "TOPIC_AUTHORIZATION_FAILED") {
		t.Errorf("%v, %+v, warnings %v", d.Verdict.Reasons, d.Audit, d.Warnings)
	}
}
