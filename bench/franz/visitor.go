package franz

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench/load"
	"ringmain/bench/pace"
)

// afterFailure is how long a visitor of a closed loop waits when a visit failed:
// a port that refuses connections would be asked without end.
const afterFailure = 10 * time.Millisecond

// visitor connects, asks for metadata and leaves, over and over.
type visitor struct {
	env    *load.Env
	number int
	notes  *notes
	topics []string
}

func (e *engine) newVisitor(number int) *visitor {
	v := &visitor{env: e.env, number: number, notes: e.writing[number%len(e.writing)]}
	seen := map[string]bool{}
	for _, p := range e.env.Partitions {
		if !seen[p.Topic] {
			seen[p.Topic] = true
			v.topics = append(v.topics, p.Topic)
		}
	}
	return v
}

// run visits until sending ends; the visit that is under way then may go on until
// finishing ends.
func (v *visitor) run(sending, finishing context.Context, begin time.Duration) error {
	s := &v.env.Spec
	turns, err := newTurns(begin, s.Rate.RecordsPerSecond(max(s.Record.Mean(), 1)), v.number, s.Connections)
	if err != nil {
		return err
	}
	defer turns.close()
	for n := v.number; ; n++ {
		intended, now, ok := turns.next(sending)
		if !ok {
			return nil
		}
		err := v.visit(finishing, n)
		switch done := pace.Now(); {
		case err == nil:
			v.notes.done(load.Connect, intended, now, done)
		case finishing.Err() != nil:
			v.notes.worker.Failed(unanswered)
		default:
			v.notes.failed(err)
			if s.Rate.Max() {
				_ = turns.timer.WaitUntil(sending, done+afterFailure)
			}
		}
	}
}

func (v *visitor) visit(ctx context.Context, n int) error {
	opts := clientOptions(v.env)
	if all := v.env.Bootstrap; len(all) > 0 {
		// One address a visit: franz-go would choose one itself for each request,
		// and connect twice.
		opts = append(opts, kgo.SeedBrokers(all[n%len(all)]))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer client.Close()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // nil would be all
	for i := range v.topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &v.topics[i]
		req.Topics = append(req.Topics, topic)
	}
	answer, err := client.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return err
	}
	for _, topic := range answer.(*kmsg.MetadataResponse).Topics {
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
			return err
		}
	}
	return nil
}
