package main

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

func TestTopicLifeCycle(t *testing.T) {
	s := newShell(t, fakeCluster(t))
	created := decode[[]createdTopic](t, s.ok("", "topic", "create", "orders", "audit", "--partitions", "3", "--config", "retention.ms=1000", "--output", "json"))
	if len(created) != 2 || !created[0].Created || created[0].TopicID == "" || created[0].Error != nil {
		t.Fatalf("got %+v", created)
	}
	listed := decode[[]listedTopic](t, s.ok("", "topic", "list", "--output", "json"))
	if len(listed) != 2 || listed[0].Topic != "audit" || listed[1].Topic != "orders" || listed[1].Partitions != 3 || listed[1].ReplicationFactor != 1 {
		t.Fatalf("got %+v", listed)
	}
	s.ok(lines("v", 10), "produce", "orders", "--partition", "1")
	s.ok("", "topic", "delete-records", "orders", "--before", "1:4")
	described := decode[[]describedTopic](t, s.ok("", "topic", "describe", "orders", "--output", "json"))
	d := described[0]
	if len(described) != 1 || d.Configs["retention.ms"] != "1000" || len(d.Partitions) != 3 || d.TopicID != listed[1].TopicID {
		t.Fatalf("got %+v", described)
	}
	if p := d.Partitions[1]; p.StartOffset != 4 || p.EndOffset != 10 || len(p.ISR) != 1 || p.Leader != p.Replicas[0] {
		t.Errorf("got %+v", p)
	}
	if out := s.ok("", "topic", "describe", "orders"); !strings.Contains(out, "retention.ms=1000") || strings.Count(out, "\n") != 5 {
		t.Errorf("got\n%s", out)
	}
	s.ok("", "topic", "alter", "orders", "--config", "retention.ms=5", "--delete-config", "segment.bytes")
	if out := s.ok("", "topic", "describe", "orders"); !strings.Contains(out, "retention.ms=5 ") && !strings.Contains(out, "retention.ms=5\n") {
		t.Errorf("got\n%s", out)
	}
	s.ok("", "topic", "add-partitions", "orders", "--add", "2")
	if out := s.ok("", "topic", "add-partitions", "orders", "--partitions", "7"); !strings.Contains(out, "7") {
		t.Errorf("got\n%s", out)
	}
	if out := s.ok("", "topic", "delete", "orders", "audit"); strings.Count(out, "deleted") != 2 {
		t.Errorf("got\n%s", out)
	}
	if out := s.ok("", "topic", "list", "--output", "json"); out != "[]\n" {
		t.Errorf("got %q; want an empty list", out)
	}
}

func TestTopicFailures(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(2, "there")))
	s.fails(exitFailure, []string{"topic", "create", "there"}, `create topic "there"`, "TOPIC_ALREADY_EXISTS (36)")
	s.ok("", "topic", "create", "there", "--if-not-exists")
	s.fails(exitFailure, []string{"topic", "describe", "gone"}, `"gone"`, "UNKNOWN_TOPIC_OR_PARTITION (3)", "ringmain topic list")
	s.fails(exitFailure, []string{"topic", "delete", "gone"}, `delete topic "gone"`)
	s.ok("", "topic", "delete", "gone", "--if-exists")
	s.fails(exitFailure, []string{"topic", "add-partitions", "there", "--partitions", "1"}, "INVALID_PARTITIONS (37)")
	s.fails(exitFailure, []string{"topic", "add-partitions", "gone", "--add", "1"}, `"gone"`)
	s.fails(exitFailure, []string{"topic", "delete-records", "there", "--before", "5:1"}, "has no partition 5: it has 2")
	s.fails(exitFailure, []string{"topic", "delete-records", "there", "--before", "1:99"}, "OFFSET_OUT_OF_RANGE (1)")
}

// TestPartOfAResultFails: the document says which part, and so do standard
// error and the exit code.
func TestPartOfAResultFails(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(1, "there")))
	out := s.fails(exitFailure, []string{"topic", "create", "new", "there", "--output", "json"}, `create topic "there"`)
	for _, item := range decode[[]createdTopic](t, out) {
		if item.Created == (item.Topic == "there") || (item.Error == nil) == (item.Topic == "there") {
			t.Errorf("got %+v", item)
		}
		if item.Error != nil && (item.Error.Code != 36 || item.Error.Name != "TOPIC_ALREADY_EXISTS") {
			t.Errorf("got %+v", item.Error)
		}
	}
}

func TestValidateOnlyCreatesNothing(t *testing.T) {
	s := newShell(t, fakeCluster(t))
	if out := s.ok("", "topic", "create", "orders", "--validate-only"); !strings.Contains(out, "valid") {
		t.Errorf("got %q", out)
	}
	if out := s.ok("", "topic", "list", "--output", "json"); out != "[]\n" {
		t.Errorf("got %q", out)
	}
}
