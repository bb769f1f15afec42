package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench"
)

func TestBenchVerifyFindsNothingWrong(t *testing.T) {
	s := newShell(t, fakeCluster(t))
	out := s.ok("", "bench", "verify", "--records", "500", "--partitions", "3", "--record-size", "100", "--codec", "lz4", "--rate", "1MB")
	has(t, out, "3 partitions, deleted", "500", "lost", "everything acknowledged is there")
	r := decode[bench.VerifyReport](t, s.ok("", "bench", "verify", "--records", "100", "--topic", "mine", "--output", "json"))
	if !r.OK || r.Topic != "mine" || r.Partitions != 8 || r.Verdict.Acked != 100 || r.Kept {
		t.Errorf("%+v", r)
	}
}

func TestBenchVerifyGoesOnWithItsAccount(t *testing.T) {
	s := newShell(t, fakeCluster(t))
	state := filepath.Join(t.TempDir(), "account.json")
	has(t, s.ok("", "bench", "verify", "--records", "200", "--state", state), "account", state)
	s.fails(exitFailure, []string{"bench", "verify", "--records", "200", "--state", state}, "is there already")
	has(t, s.ok("", "bench", "verify", "--resume", state), "200")
	has(t, s.ok("", "bench", "verify", "--resume", state, "--records", "100", "--remove"), "300", "2 runs", "deleted")
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Errorf("the account is still there: %v", err)
	}
}

func TestBenchVerifyAsksBeforeItWritesToATopic(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(2, "orders")))
	s.fails(exitFailure, []string{"bench", "verify", "--records", "10", "--topic", "orders"}, "there already")
	has(t, s.ok("", "bench", "verify", "--records", "10", "--topic", "orders", "--existing"), "orders, 2 partitions\n")
}

func TestAnInterruptedVerifyClaimsNothing(t *testing.T) {
	var out bytes.Buffer
	if err := writeVerify(&out, &bench.VerifyReport{Topic: "t", Partitions: 1, Written: 12, Kept: true, State: "account.json"}); err != nil {
		t.Fatal(err)
	}
	has(t, out.String(), "written now", "account.json", "not checked to the end")
	if strings.Contains(out.String(), "lost") {
		t.Errorf("it counts what nobody counted:\n%s", out.String())
	}
}

func TestBenchVerifyFailsWhenRecordsAreLost(t *testing.T) {
	c := fakeCluster(t)
	s := newShell(t, c)
	// A broker that acknowledges and keeps nothing.
	c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range req.(*kmsg.ProduceRequest).Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition = p.Partition
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
	out := s.fails(exitFailure, []string{"bench", "verify", "--records", "20", "--partitions", "1"}, "records are not as they were acknowledged")
	has(t, out, "lost", "FAULT", "NOT as it was acknowledged")
}
