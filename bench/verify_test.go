package bench

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench/audit"
	"ringmain/record"
)

// The brokers here are fakes in this process, so that they can be made to do
// what no good broker does.

type fake struct {
	*kfake.Cluster
	t      *testing.T
	client *kgo.Client
	admin  *kadm.Client
}

func newFake(t *testing.T, opts ...kfake.Opt) *fake {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(2)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &fake{c, t, client, kadm.NewClient(client)}
}

// options are a small Verify that writes n records.
func (f *fake) options(n int64) VerifyOptions {
	return VerifyOptions{
		Client: []kgo.Opt{kgo.SeedBrokers(f.ListenAddrs()...)}, Partitions: 3, Replication: 1,
		ValueBytes: 200, BatchBytes: 4 << 10, Records: n, Patience: 20 * time.Second,
	}
}

func (f *fake) topics() []string {
	f.t.Helper()
	topics, err := f.admin.ListTopics(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return topics.Names()
}

func verifyFault(t *testing.T, err error) {
	t.Helper()
	var fault *audit.FaultError
	if !errors.As(err, &fault) {
		t.Fatalf("got %v; want a fault", err)
	}
}

func TestVerifyFindsNothingWrongWhereNothingIs(t *testing.T) {
	f := newFake(t)
	o := f.options(5000)
	o.Codec = kgo.ZstdCompression()
	var writes, reads atomic.Int64
	o.Progress = func(p VerifyProgress) {
		if p.Phase == "write" {
			writes.Add(1)
		} else {
			reads.Add(1)
		}
	}
	r, err := Verify(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	v := r.Verdict
	if !r.OK || r.Written != 5000 || v.Acked != 5000 || v.Seen != 5000 || v.Sent != 5000 || r.Partitions != 3 || len(v.Findings) > 0 {
		t.Fatalf("%+v", r)
	}
	if r.Kept || len(f.topics()) != 0 {
		t.Fatalf("kept %v, topics %v", r.Kept, f.topics())
	}
	if reads.Load() == 0 {
		t.Fatal("no progress was told")
	}
}

// harm changes the records of produce requests on their way, as a broken broker
// might. Checksums are made anew: nothing but the values gives it away.
func (f *fake) harm(change func(values [][]byte)) {
	f.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		for i := range req.(*kmsg.ProduceRequest).Topics {
			for j := range req.(*kmsg.ProduceRequest).Topics[i].Partitions {
				p := &req.(*kmsg.ProduceRequest).Topics[i].Partitions[j]
				old := record.Batch(p.Records)
				r, err := record.NewReader(old)
				if err != nil {
					f.t.Error(err)
					return nil, nil, false
				}
				var values [][]byte
				for range old.Count() {
					rec, err := r.Next()
					if err != nil {
						f.t.Error(err)
						return nil, nil, false
					}
					values = append(values, append([]byte(nil), rec.Value...))
				}
				r.Close()
				change(values)
				b := record.NewBuilder()
				b.ProducerID, b.ProducerEpoch, b.BaseSequence = old.ProducerID(), old.ProducerEpoch(), old.BaseSequence()
				for _, v := range values {
					b.Add(old.BaseTimestamp(), nil, v)
				}
				p.Records = b.Build()
			}
		}
		return nil, nil, false
	})
}

func TestVerifyFindsWhatABadBrokerDoes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(values [][]byte)
		faults []audit.Fault
	}{
		"swaps records":   {func(v [][]byte) { v[0], v[len(v)-1] = v[len(v)-1], v[0] }, []audit.Fault{audit.OutOfOrder, audit.Moved}},
		"flips a bit":     {func(v [][]byte) { v[0][199] ^= 1 }, []audit.Fault{audit.Damaged, audit.Lost}},
		"cuts a value":    {func(v [][]byte) { v[0] = v[0][:audit.StampBytes-1] }, []audit.Fault{audit.Foreign, audit.Lost}},
		"repeats records": {func(v [][]byte) { v[len(v)-1] = v[0] }, []audit.Fault{audit.Duplicate, audit.Lost}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.harm(func(values [][]byte) {
				if len(values) > 1 {
					c.change(values)
				}
			})
			r, err := Verify(t.Context(), f.options(2000))
			verifyFault(t, err)
			for _, fault := range c.faults {
				if r.Verdict.Count(fault) == 0 {
					t.Errorf("not found: %s; %v", fault, err)
				}
			}
			if r.OK || !r.Kept || len(f.topics()) != 1 {
				t.Errorf("ok %v, kept %v, topics %v: the topic is the evidence", r.OK, r.Kept, f.topics())
			}
		})
	}
}

// kept is a Verify whose topic and state stay.
func (f *fake) kept(n int64) (VerifyOptions, *VerifyReport) {
	f.t.Helper()
	o := f.options(n)
	o.StatePath = filepath.Join(f.t.TempDir(), "state.json")
	r, err := Verify(f.t.Context(), o)
	if err != nil {
		f.t.Fatal(err)
	}
	if !r.Kept {
		f.t.Fatal("the topic of a state file is gone")
	}
	o.Resume, o.Records = true, 0
	return o, r
}

func TestResumedVerifyFindsDeletedRecords(t *testing.T) {
	f := newFake(t)
	o, r := f.kept(3000)
	offsets := kadm.Offsets{}
	offsets.AddOffset(r.Topic, 1, 70, -1)
	if _, err := f.admin.DeleteRecords(t.Context(), offsets); err != nil {
		t.Fatal(err)
	}
	r, err := Verify(t.Context(), o)
	verifyFault(t, err)
	if v := r.Verdict; v.Lost != 70 || v.Moved != 0 || v.Duplicated != 0 || len(v.Findings) != 1 {
		t.Fatalf("%+v", v)
	}
	if x := r.Verdict.Findings[0]; x.Partition != 1 || x.Offset != 0 || x.Count != 70 || x.Fault != audit.Lost {
		t.Fatalf("%+v", x)
	}
}

func TestResumedVerifyFindsCopiedRecords(t *testing.T) {
	f := newFake(t)
	o, r := f.kept(300)
	reader, err := kgo.NewClient(kgo.SeedBrokers(f.ListenAddrs()...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{r.Topic: {2: kgo.NewOffset().At(10)}}))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	copies := reader.PollRecords(t.Context(), 5).Records()
	for _, c := range copies {
		if err := f.client.ProduceSync(t.Context(), &kgo.Record{Topic: r.Topic, Partition: 2, Value: c.Value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	r, err = Verify(t.Context(), o)
	verifyFault(t, err)
	if v := r.Verdict; v.Duplicated != int64(len(copies)) || v.Lost != 0 || v.Seen != 300 {
		t.Fatalf("%d copies, %+v", len(copies), v)
	}
}

func TestResumedVerifyGoesOn(t *testing.T) {
	f := newFake(t)
	o, first := f.kept(500)
	o.Records = 700
	second, err := Verify(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if second.Topic != first.Topic || second.Written != 700 || second.Verdict.Acked != 1200 || second.Verdict.Seen != 1200 || second.Sessions != 2 {
		t.Fatalf("%+v", second)
	}
	o.Records, o.Remove = 0, true
	if r, err := Verify(t.Context(), o); err != nil || r.Kept || r.Verdict.Seen != 1200 || len(f.topics()) != 0 {
		t.Fatalf("%v, %+v, topics %v", err, r, f.topics())
	}
	if _, err := audit.LoadState(o.StatePath); err == nil {
		t.Fatal("the state file of a topic that is gone is still there")
	}
}

func TestResumeRefusesAnotherTopic(t *testing.T) {
	f := newFake(t)
	o, r := f.kept(10)
	if _, err := f.admin.DeleteTopic(t.Context(), r.Topic); err != nil {
		t.Fatal(err)
	}
	o.Patience = 300 * time.Millisecond
	if _, err := Verify(t.Context(), o); err == nil || !strings.Contains(err.Error(), "is lost") {
		t.Fatalf("topic gone: %v", err)
	}
	o.Patience = 20 * time.Second
	if _, err := f.admin.CreateTopic(t.Context(), 3, 1, nil, r.Topic); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), o); err == nil || !strings.Contains(err.Error(), "was made anew") {
		t.Fatalf("topic made anew: %v", err)
	}
	if _, err := Verify(t.Context(), f.options(0)); err == nil {
		t.Fatal("there was nothing to check, and that is fine?")
	}
}

func TestVerifyLeavesOthersTopicsAlone(t *testing.T) {
	f := newFake(t, kfake.SeedTopics(2, "orders"))
	for p := range int32(2) {
		if err := f.client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Partition: p, Value: []byte("an order")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	o := f.options(100)
	o.Topic = "orders"
	if _, err := Verify(t.Context(), o); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Fatalf("got %v", err)
	}
	o.Existing = true
	r, err := Verify(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Partitions != 2 || r.Verdict.Seen != 100 || !r.Kept || len(f.topics()) != 1 {
		t.Fatalf("%+v, topics %v", r, f.topics())
	}
	o.Topic = "parcels"
	if _, err := Verify(t.Context(), o); err == nil || len(f.topics()) != 1 {
		t.Fatalf("a topic that does not exist was used: %v, %v", err, f.topics())
	}
}

func TestInterruptedVerifyCleansUp(t *testing.T) {
	f := newFake(t)
	o := f.options(0)
	o.Duration = time.Hour
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o.Progress = func(p VerifyProgress) {
		if p.Acked > 0 {
			stop()
		}
	}
	if _, err := Verify(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if names := f.topics(); len(names) != 0 {
		t.Fatalf("left behind: %v", names)
	}

	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	o.StatePath = filepath.Join(t.TempDir(), "state.json")
	if _, err := Verify(ctx, o); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "--resume "+o.StatePath) {
		t.Fatalf("got %v", err)
	}
	o.Resume, o.Duration, o.Progress = true, 0, nil
	r, err := Verify(t.Context(), o)
	if err != nil || r.Verdict.Acked == 0 || r.Verdict.Seen < r.Verdict.Acked {
		t.Fatalf("%v, %+v", err, r)
	}
}

// Who interrupts may come between the making of a topic and the answer.
func TestVerifyInterruptedWhileItsTopicIsMadeCleansUp(t *testing.T) {
	f := newFake(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	f.ControlKey(int16(kmsg.CreateTopics), func(kmsg.Request) (kmsg.Response, error, bool) {
		stop()
		time.Sleep(50 * time.Millisecond) // for the client to notice first; if it does not, the topic must go all the same
		return nil, nil, false
	})
	if _, err := Verify(ctx, f.options(10)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if names := f.topics(); len(names) != 0 {
		t.Fatalf("left behind: %v", names)
	}
}

func TestVerifyGivesUpOnASilentBroker(t *testing.T) {
	f := newFake(t)
	f.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range req.(*kmsg.ProduceRequest).Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, 19 // NOT_ENOUGH_REPLICAS
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
	o := f.options(100)
	o.Patience = time.Second
	r, err := Verify(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "no record was acknowledged for") {
		t.Fatalf("%v", err)
	}
	if r.Verdict.Lost != 0 || r.Verdict.Unacked == 0 {
		t.Fatalf("%+v", r.Verdict)
	}
}
