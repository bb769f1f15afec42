package workload

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Setting is one key of a workload file, for those who let people change it in
// another way.
type Setting struct {
	Key   string
	Value string // what stands for the value in help
	Words string
}

// Settings are all keys that have a text form, in the order of the file. Not
// among them are the name, the description and topic_config.
func Settings() []Setting { return settings }

var settings = []Setting{
	{"kind", "KIND", "what the load does: produce, fetch, e2e (from send to arrival), mixed (produce and fetch), storm (new connections) or idle (connections that do nothing)"},
	{"engine", "ENGINE", "replay: requests encoded once, the client costs next to nothing; franz: franz-go, as applications use it"},
	{"topic", "TOPIC", "topic that exists (needs --existing); without it one is made and removed"},
	{"topics", "N", "topics to make"},
	{"partitions", "N", "partitions of each topic"},
	{"replication_factor", "N", "replicas of each partition"},
	{"record_size", "SIZE", "bytes of a record's value: SIZE, uniform:LOW:HIGH, normal:MEAN:DEVIATION[:LOW:HIGH] or list:SIZE=WEIGHT,..."},
	{"keys", "KEYS", "keys of records: none, uniform:N or zipf:N[:SKEW]"},
	{"key_size", "SIZE", "bytes of a key"},
	{"batch_bytes", "SIZE", "a batch is closed when another record would make it longer; 1: one record a batch"},
	{"linger", "TIME", "how long a batch waits for more records (engine franz)"},
	{"codec", "CODEC", "compression: none, gzip, snappy, lz4 or zstd"},
	{"level", "N", "level of compression; 0: the codec's default"},
	{"compressibility", "SHARE", "share of a value's bytes that compress to nothing, 0 to 1"},
	{"connections", "N", "connections that produce, storm or idle"},
	{"in_flight", "N", "requests without an answer on each connection"},
	{"acks", "ACKS", "who must have a record before it counts: all, 1 (the leader) or 0 (nobody)"},
	{"idempotent", "BOOL", "produce with producer ids and sequences (needs acks all)"},
	{"consumers", "N", "connections that fetch"},
	{"fetch_mode", "MODE", "where fetches read: tail, catch-up (from the beginning, over and over) or random"},
	{"fetch_max_bytes", "SIZE", "longest answer of a fetch"},
	{"fetch_min_bytes", "SIZE", "a fetch waits for so much"},
	{"fetch_max_wait", "TIME", "a fetch waits no longer"},
	{"fill", "SIZE", "what is written first, for fetches of what is there"},
	{"rate", "RATE", "max (closed loop), records a second (50000) or bytes a second (100MB)"},
	{"duration", "TIME", "how long to measure"},
	{"warm_up", "TIME", "the same load before it, not measured"},
	{"seed", "N", "of everything random in the load"},
}

// Set changes one field by the key and the text that it has in a file.
func (s *Spec) Set(key, text string) error {
	if settingOf(key) == nil {
		return fmt.Errorf("a workload has no setting %q", key)
	}
	f := formOf(*s)
	p := pair{&yaml.Node{Kind: yaml.ScalarNode, Value: key}, &yaml.Node{Kind: yaml.ScalarNode, Value: text}}
	if err := p.decode(&f); err != nil {
		return err
	}
	*s = f.spec()
	return nil
}

// Get is the text of one field, as Set reads it.
func (s Spec) Get(key string) (string, error) {
	var all yaml.Node
	if err := all.Encode(formOf(s)); err != nil {
		return "", fmt.Errorf("write setting %s: %w", key, err)
	}
	for i := 0; i+1 < len(all.Content); i += 2 {
		if all.Content[i].Value == key {
			return all.Content[i+1].Value, nil
		}
	}
	return "", nil // left out because it is empty
}
