package conformance

import (
	"regexp"
	"strings"
)

// deviation is a difference from Kafka that is meant. docs/deviations.md tells
// users about each.
type deviation struct {
	scenario *regexp.Regexp // of "API/scenario"
	step     *regexp.Regexp // of the step's name
	path     *regexp.Regexp // of the field
	why      string
}

func dev(scenario, step, path, why string) deviation {
	whole := func(p string) *regexp.Regexp { return regexp.MustCompile("^(?:" + p + ")$") }
	return deviation{whole(scenario), whole(step), whole(path), why}
}

var deviations = []deviation{
	dev("Produce/the same partition twice", ".*", ".*", "the second of two batches for one partition is refused, where Kafka drops it without a word"),
	dev("Produce/records that Kafka lets through", ".*", ".*", "a batch whose records do not agree with its header reaches no consumer"),
	dev("Fetch/byte limits", "-1 (in all|each)", ".*", "negative byte limits are taken as 0"),
	dev("Fetch/read committed", "isolation level (2|-1)", ".*", "an unknown isolation level is an invalid request; Kafka fails"),
	dev("ListOffsets/special timestamps", "-3 of b", ".*", "the largest timestamp is looked for among records that can be read"),
	dev("CreateTopics/configs", `message\.(downconversion\.enable|format\.version) .*`, ".*", "two keys of old tools are accepted and ignored"),
	dev("(CreateTopics|DescribeConfigs)/.*", ".*", `.*\[min\.insync\.replicas\].*`, "Kafka stores the default of min.insync.replicas as a cluster-wide setting, for eligible leader replicas"),
	dev("IncrementalAlterConfigs/every key.*", `4 min\.insync\.replicas`, ".*", "the same: it cannot be set for one broker"),
	dev("IncrementalAlterConfigs/every key.*", `4 (listener.*|config\.providers|cordoned\.log\.dirs|metric\.reporters|sasl\..*|ssl\..*|principal\.builder\.class)`, ".*", "what governs a thing that is not built in cannot be changed while the broker runs"),
	dev("DescribeConfigs/broker", "default", `Resources\[0\]\.Configs`, "the same: here it is the only entry"),
	dev("DescribeConfigs/broker with synonyms.*", ".*", `.*\[(offsets|transaction|share)\..*\]\.ConfigSynonyms\[1\]\.Value`, "the defaults of the internal topics are those of one node"),
	dev("DescribeQuorum/partitions", ".*", `Nodes\[0\]\.Listeners`, "a single node opens no controller port"),
	dev("JoinGroup/what cannot be", "described", `Groups\[0\]\.State`, "a JoinGroup that is refused leaves no group behind"),
	dev("ConsumerGroupHeartbeat/.*", ".*", "HeartbeatIntervalMillis", "a member that waits is to come again sooner"),
	dev("Metadata/by id", "zero", "ErrorCode", "Kafka fails over a topic with neither name nor id"),
}

// allowed returns which deviation explains a difference: its index, or -1 for none.
// Two kinds need no entry (the index is then that of no deviation): we give a reason
// where Kafka gives only a number, and a code that says what was wrong where Kafka
// fails with UNKNOWN_SERVER_ERROR.
func allowed(scenario, step string, d difference) (index int, ok bool) {
	switch {
	case strings.HasSuffix(d.path, "ErrorMessage") && d.kafka == nil:
		return -1, true
	case strings.HasSuffix(d.path, "ErrorCode") && show(d.kafka) == "-1" && d.our != nil:
		return -1, true
	}
	for i, v := range deviations {
		if v.scenario.MatchString(scenario) && v.step.MatchString(step) && v.path.MatchString(d.path) {
			return i, true
		}
	}
	return -1, false
}
