package main

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// valueOf runs config describe for one key of the topic.
func valueOf(t *testing.T, s shell, key string) (value, source string) {
	t.Helper()
	d := decode[describedResource](t, s.ok("", "config", "describe", "topic", "orders", key, "--output", "json"))
	if d.Resource != "topic" || d.Name != "orders" || len(d.Configs) != 1 || d.Configs[0].Value == nil {
		t.Fatalf("got %+v", d)
	}
	return *d.Configs[0].Value, d.Configs[0].Source
}

func TestConfigChanges(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(1, "orders")))
	s.ok("", "config", "set", "topic", "orders", "retention.ms=3600000", "cleanup.policy=delete")
	if v, source := valueOf(t, s, "retention.ms"); v != "3600000" || source != "DYNAMIC_TOPIC_CONFIG" {
		t.Errorf("got %q from %s", v, source)
	}
	s.ok("", "config", "append", "topic", "orders", "cleanup.policy=compact")
	if v, _ := valueOf(t, s, "cleanup.policy"); v != "delete,compact" {
		t.Errorf("got %q", v)
	}
	s.ok("", "config", "subtract", "topic", "orders", "cleanup.policy=delete")
	if v, _ := valueOf(t, s, "cleanup.policy"); v != "compact" {
		t.Errorf("got %q", v)
	}
	items := decode[[]alteredResource](t, s.ok("", "config", "delete", "topic", "orders", "retention.ms", "--output", "json"))
	if len(items) != 1 || !items[0].Changed || items[0].Resource != "topic" || items[0].Name != "orders" {
		t.Errorf("got %+v", items)
	}
	if _, source := valueOf(t, s, "retention.ms"); source == "DYNAMIC_TOPIC_CONFIG" {
		t.Error("the value is still there")
	}
}

func TestConfigDescribeShowsDefaultsOnlyWhenAsked(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(1, "orders")))
	some := decode[describedResource](t, s.ok("", "config", "describe", "topic", "orders", "--output", "json"))
	all := decode[describedResource](t, s.ok("", "config", "describe", "topic", "orders", "--all", "--output", "json"))
	if len(all.Configs) <= len(some.Configs) {
		t.Errorf("%d configs with --all, %d without", len(all.Configs), len(some.Configs))
	}
	for i := 1; i < len(all.Configs); i++ {
		if all.Configs[i-1].Key >= all.Configs[i].Key {
			t.Errorf("%q is not before %q", all.Configs[i-1].Key, all.Configs[i].Key)
		}
	}
}

func TestConfigOfBrokers(t *testing.T) {
	s := newShell(t, fakeCluster(t))
	s.ok("", "config", "set", "broker", "default", "log.retention.ms=1000")
	if out := s.ok("", "config", "describe", "broker", "default", "--output", "json"); decode[describedResource](t, out).Name != "default" {
		t.Errorf("got %s", out)
	}
	if out := s.ok("", "config", "describe", "broker", "0", "--all"); !strings.HasPrefix(out, "KEY") {
		t.Errorf("got %s", out)
	}
}

func TestConfigFailures(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(1, "orders")))
	s.fails(exitFailure, []string{"config", "describe", "topic", "gone"}, `topic "gone"`)
	s.fails(exitFailure, []string{"config", "describe", "topic", "orders", "no.such.key"}, "no.such.key")
	s.fails(exitFailure, []string{"config", "set", "topic", "gone", "retention.ms=1"}, `change configs of topic "gone"`)
}

func TestClusterDescribe(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.NumBrokers(3)))
	code, out, _ := s.run("", "cluster", "describe", "--output", "json")
	d := decode[describedCluster](t, out)
	if code != 0 || d.ClusterID != "fake-cluster" || len(d.Brokers) != 3 || d.Brokers[0].Port == 0 || d.Brokers[0].ID >= d.Brokers[1].ID {
		t.Errorf("exit code %d, got %+v", code, d)
	}
	// The fake has no quorum; that is a warning, and the rest is printed.
	code, out, errOut := s.run("", "cluster", "describe")
	if code != 0 || !strings.Contains(out, "cluster fake-cluster") || !strings.Contains(errOut, "warning: no quorum") {
		t.Errorf("exit code %d, got %q and %q", code, out, errOut)
	}
}
