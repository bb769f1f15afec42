package franz

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench/load"
	"ringmain/bench/workload"
)

// answerProduce makes the cluster answer every produce with an error.
func (c *cluster) answerProduce(code int16) {
	c.ControlKey(produceKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range req.(*kmsg.ProduceRequest).Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
}

func TestFailuresHaveTheProtocolsNames(t *testing.T) {
	c := newCluster(t, 1)
	c.answerProduce(kerr.TopicAuthorizationFailed.Code)
	r := begin(t, c.env(workload.Produce, "rate", "1000"))
	r.until(func(sum *load.Interval) bool { return sum.Errors["TOPIC_AUTHORIZATION_FAILED"] >= 100 })
	if sum := r.end(); sum.Sections[load.Produce].Records != 0 || len(sum.Errors) != 1 {
		t.Errorf("%d records are noted as written, errors %v", sum.Sections[load.Produce].Records, sum.Errors)
	}
}

// What the client would get over by itself is seen too.
func TestFetchesThatAreRefusedAreSeen(t *testing.T) {
	c := newCluster(t, 1)
	c.fill(10)
	c.ControlKey(fetchKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		for _, topic := range req.(*kmsg.FetchRequest).Topics {
			rt := kmsg.NewFetchResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				rp := kmsg.NewFetchResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, kerr.NotLeaderForPartition.Code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true // once
	})
	r := begin(t, c.env(workload.Fetch, "consumers", "1"))
	r.until(records(load.Fetch, 10))
	if sum := r.end(); sum.Errors["NOT_LEADER_FOR_PARTITION"] != 1 || len(sum.Errors) != 1 {
		t.Errorf("errors %v", sum.Errors)
	}
}

func TestRecordsWithoutAnAnswerFailWhenPatienceIsOver(t *testing.T) {
	c := newCluster(t, 1)
	env := c.env(workload.Mixed, "rate", "1000")
	c.keepBook(env)
	env.Patience = 300 * time.Millisecond
	r := begin(t, env)
	r.until(records(load.Produce, 100))
	c.answerProduce(kerr.NotEnoughReplicas.Code) // which the client takes as a reason to try again
	r.until(func(*load.Interval) bool {
		sent, acked := env.Book.Stream(0, 0).Counts()
		return sent > acked+100
	})
	sum := r.end()
	v := env.Book.Verdict()
	if sum.Errors[unanswered] == 0 || sum.Errors[unanswered] != v.Unacked || v.Lost != 0 {
		t.Errorf("errors %v; %+v", sum.Errors, v)
	}
}

func TestABrokerThatIsAwayIsSeen(t *testing.T) {
	c := newCluster(t, 1)
	env := c.env(workload.Mixed, "rate", "1000")
	env.Patience = 100 * time.Millisecond
	r := begin(t, env)
	r.until(records(load.Fetch, 100))
	c.Close()
	r.until(func(sum *load.Interval) bool { return sum.Errors["connection refused"] > 0 })
	r.end()
}

func TestFailuresAreCountedUnderFewNames(t *testing.T) {
	for want, err := range map[string]error{
		"NOT_LEADER_FOR_PARTITION":  fmt.Errorf("produce: %w", kerr.NotLeaderForPartition),
		"timeout":                   context.DeadlineExceeded,
		"connection lost":           fmt.Errorf("read: %w", io.ErrUnexpectedEOF),
		"connection refused":        &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"client closed":             kgo.ErrClientClosed,
		behindAnother:               errors.New("the broker connection has died and the request will be retried on a new connection"),
		"other: #.#.#.#:#: strange": errors.New("127.0.0.1:45333: strange"),
	} {
		if got := nameOf(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
