package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka's numbers of resource types.
const (
	topicResource         = kmsg.ConfigResourceTypeTopic
	brokerResource        = kmsg.ConfigResourceTypeBroker
	loggerResource        = kmsg.ConfigResourceTypeBrokerLogger
	clientMetricsResource = kmsg.ConfigResourceTypeClientMetrics
	groupResource         = kmsg.ConfigResourceTypeGroupConfig
)

func (s *script) configs(kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, r)
	return req
}

var describeConfigsScenarios = []scenario{
	{"topic, all", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.topic("b", 1, "retention.ms", "1000", "cleanup.policy", "compact,delete", "max.message.bytes", "2000")
		for _, topic := range []string{"a", "b"} {
			s.step("%s", topic).ask(s.configs(topicResource, s.name(topic)))
			req := s.configs(topicResource, s.name(topic))
			req.IncludeSynonyms, req.IncludeDocumentation = true, true
			s.step("%s with synonyms and documentation", topic).ask(req)
		}
	}},
	{"topic, some", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.step("two keys").ask(s.configs(topicResource, s.name("a"), "segment.bytes", "retention.ms"))
		s.step("a key twice").ask(s.configs(topicResource, s.name("a"), "segment.bytes", "segment.bytes"))
		s.step("an unknown key").ask(s.configs(topicResource, s.name("a"), "segment.bytes", "no.such.config"))
		none := s.configs(topicResource, s.name("a"))
		none.Resources[0].ConfigNames = []string{}
		s.step("no key").ask(none)
	}},
	{"what is not there", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.step("topic").ask(s.configs(topicResource, s.name("none")))
		s.step("topic name that cannot be").ask(s.configs(topicResource, "a/b"))
		s.step("empty topic name").ask(s.configs(topicResource, ""))
		for _, name := range []string{"99", "x", "-1", "01"} {
			s.step("broker %s", name).ask(s.configs(brokerResource, name))
		}
		for _, kind := range []kmsg.ConfigResourceType{0, 1, 3, 5, 127} {
			s.step("resource type %d", kind).ask(s.configs(kind, "x"))
		}
		s.step("logger of broker 99").ask(s.configs(loggerResource, "99"))
		s.step("logger of nobody").ask(s.configs(loggerResource, ""))
		two := s.configs(topicResource, s.name("a"), "segment.bytes")
		two.Resources = append(two.Resources, s.configs(topicResource, s.name("none")).Resources...)
		s.step("one of two").ask(two)
		two.Resources = append(two.Resources, two.Resources[0])
		s.step("one twice").ask(two)
		two.Resources = nil
		s.step("nothing").ask(two)
	}},
	{"broker", 0, 0, func(s *script) {
		s.step("default").ask(s.configs(brokerResource, ""))
		s.step("1").ask(s.configs(brokerResource, "1"))
		s.step("some").ask(s.configs(brokerResource, "1", "log.retention.ms", "log.retention.hours", "message.max.bytes", "no.such.config"))
	}},
	{"broker with synonyms and documentation", 4, 4, func(s *script) {
		req := s.configs(brokerResource, "1")
		req.IncludeSynonyms, req.IncludeDocumentation = true, true
		s.ask(req)
	}},
	{"group", 0, 0, func(s *script) {
		req := s.configs(groupResource, s.name("g"))
		s.step("one that is not there").ask(req)
		req.IncludeSynonyms, req.IncludeDocumentation = true, true
		s.step("with synonyms").ask(req)
		s.step("empty name").ask(s.configs(groupResource, ""))
	}},
	{"client metrics", 0, 0, func(s *script) {
		s.step("one that is not there").ask(s.configs(clientMetricsResource, s.name("m")))
		s.step("empty name").ask(s.configs(clientMetricsResource, ""))
	}},
	{"topic under a broker default", 4, 4, func(s *script) {
		s.topic("a", 1)
		s.topic("b", 1, "retention.ms", "5000")
		s.alterQuietly(brokerResource, "", "log.retention.ms", "123456789")
		defer s.alterQuietly(brokerResource, "", "log.retention.ms", "")
		for _, topic := range []string{"a", "b"} {
			req := s.configs(topicResource, s.name(topic), "retention.ms")
			req.IncludeSynonyms = true
			s.step("%s", topic).ask(req)
		}
		for _, name := range []string{"", "1"} {
			req := s.configs(brokerResource, name, "log.retention.ms", "log.retention.hours", "log.retention.minutes")
			req.IncludeSynonyms = true
			s.step("broker %s", name).ask(req)
		}
		s.alterQuietly(brokerResource, "1", "log.retention.ms", "987654321")
		defer s.alterQuietly(brokerResource, "1", "log.retention.ms", "")
		req := s.configs(brokerResource, "1", "log.retention.ms")
		req.IncludeSynonyms = true
		s.step("broker 1 of its own").ask(req)
		req = s.configs(topicResource, s.name("a"), "retention.ms")
		req.IncludeSynonyms = true
		s.step("topic under a broker's own").ask(req)
	}},
}

// alterQuietly sets a config, or deletes it when value is empty.
func (s *script) alterQuietly(kind kmsg.ConfigResourceType, name, key, value string) {
	op := int8(0)
	if value == "" {
		op = 1
	}
	req := s.changes(kind, name, change{key, op, value})
	for _, r := range s.quiet(1, req).(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if r.ErrorCode != 0 {
			s.t.Fatalf("setting %s of %q: error %d", key, name, r.ErrorCode)
		}
	}
	s.settle(kind, name, key, value)
}

// change is one operation of IncrementalAlterConfigs: 0 set, 1 delete, 2 append, 3 subtract.
type change struct {
	key   string
	op    int8
	value string
}

func (s *script) changes(kind kmsg.ConfigResourceType, name string, list ...change) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, c := range list {
		x := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		x.Name, x.Op, x.Value = c.key, kmsg.IncrementalAlterConfigOp(c.op), nullable(c.value)
		r.Configs = append(r.Configs, x)
	}
	req.Resources = append(req.Resources, r)
	return req
}

func (s *script) replacement(kind kmsg.ConfigResourceType, name string, pairs ...string) *kmsg.AlterConfigsRequest {
	req := kmsg.NewPtrAlterConfigsRequest()
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for i := 0; i+1 < len(pairs); i += 2 {
		c := kmsg.NewAlterConfigsRequestResourceConfig()
		c.Name, c.Value = pairs[i], nullable(pairs[i+1])
		r.Configs = append(r.Configs, c)
	}
	req.Resources = append(req.Resources, r)
	return req
}

// set records which of a topic's configs are its own.
func (s *script) set(topic string) {
	s.settled()
	resp := s.quiet(4, s.configs(topicResource, s.name(topic))).(*kmsg.DescribeConfigsResponse)
	own := map[string]any{}
	for _, c := range resp.Resources[0].Configs {
		if c.Source == kmsg.ConfigSourceDynamicTopicConfig && c.Value != nil {
			own[c.Name] = *c.Value
		}
	}
	s.steps = append(s.steps, step{"set on the topic", own})
}

var alterConfigsScenarios = []scenario{
	{"topic", 0, 0, func(s *script) {
		s.topic("a", 1, "retention.ms", "1000")
		t := func(name string, pairs ...string) {
			s.step("%s", name).ask(s.replacement(topicResource, s.name("a"), pairs...))
		}
		t("replace", "max.message.bytes", "2000", "cleanup.policy", "compact")
		s.set("a")
		t("a bad value", "max.message.bytes", "-5")
		t("an unknown key", "no.such.config", "1", "max.message.bytes", "3000")
		t("a null value", "max.message.bytes", "null")
		t("a key twice", "max.message.bytes", "4000", "max.message.bytes", "5000")
		s.set("a")
		t("nothing")
		s.set("a")
	}},
	{"validate only", 0, 0, func(s *script) {
		s.topic("a", 1, "retention.ms", "1000")
		for _, value := range []string{"2000", "x"} {
			req := s.replacement(topicResource, s.name("a"), "max.message.bytes", value)
			req.ValidateOnly = true
			s.step("%s", value).ask(req)
		}
		s.set("a")
	}},
	{"what is not there", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.step("topic").ask(s.replacement(topicResource, s.name("none"), "retention.ms", "1"))
		s.step("topic name that cannot be").ask(s.replacement(topicResource, "a/b", "retention.ms", "1"))
		s.step("broker 99").ask(s.replacement(brokerResource, "99", "log.retention.ms", "1000"))
		s.step("broker x").ask(s.replacement(brokerResource, "x", "log.retention.ms", "1000"))
		s.step("resource type 3").ask(s.replacement(3, "x", "retention.ms", "1"))
		s.step("broker key that cannot change").ask(s.replacement(brokerResource, "1", "node.id", "5"))
		two := s.replacement(topicResource, s.name("a"), "retention.ms", "1")
		two.Resources = append(two.Resources, s.replacement(topicResource, s.name("none"), "retention.ms", "1").Resources[0])
		s.step("one of two").ask(two)
		two.Resources = nil
		s.step("nothing").ask(two)
	}},
	{"several mistakes at once", 0, 0, func(s *script) {
		s.topic("a", 1)
		for _, r := range named {
			for _, pairs := range [][]string{{"segment.ms", "x"}, {"segment.ms", "null"}, {"segment.ms", "1", "segment.ms", "x"}, {"no.such.config", "1"}, {}} {
				s.step("%d %s: %v", r.kind, r.name, pairs).ask(s.replacement(r.kind, r.name, pairs...))
			}
		}
	}},
}

// named are resources that are not there, or whose name cannot be.
var named = []struct {
	kind kmsg.ConfigResourceType
	name string
}{
	{topicResource, "none"}, {topicResource, "a/b"}, {topicResource, ""}, {brokerResource, "99"}, {brokerResource, "x"}, {groupResource, ""}, {clientMetricsResource, ""},
}

// kindsOfValues are values that are good for some key and bad for others.
var kindsOfValues = []string{
	"-2", "-1", "0", "1", "2", "10", "1000", "1048576", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "", "x", " 5 ", "\t7\n", "\u00a05", "1.5", "0x10", "+5", "007", "1_000", "5L", "0.5f", "1e-3",
	"true", " FALSE ", "yes", "delete", "delete,compact", "delete,delete", ",", "delete,", "*", "*,*", "0:1", "0:1,0:1", "0:1,", "gzip", " gzip ", "GZIP", "LogAppendTime", "latest", "by_duration:PT1H", "by_duration:-PT1H", "by_duration:P1DT-1H",
	"read_committed", "sticky", "__x", "a,b", "a,a", "127.0.0.1:5", "PLAINTEXT://:1", "client_id=x", "client_id=",
}

// changeable lists the keys of a resource that may be changed while the broker runs.
func (s *script) changeable(kind kmsg.ConfigResourceType, name string) (keys []string) {
	resp := s.quiet(4, s.configs(kind, name)).(*kmsg.DescribeConfigsResponse)
	for _, c := range resp.Resources[0].Configs {
		if !c.ReadOnly && !strings.HasPrefix(c.Name, "ringmain.") {
			keys = append(keys, c.Name)
		}
	}
	slices.Sort(keys)
	return keys
}

var incrementalAlterConfigsScenarios = []scenario{
	{"operations", 0, 0, func(s *script) {
		s.topic("a", 1, "retention.ms", "1000")
		for _, list := range [][]change{
			{{"max.message.bytes", 0, "2000"}}, {{"retention.ms", 1, "null"}}, {{"retention.ms", 1, "null"}}, {{"retention.ms", 1, "7"}},
			{{"cleanup.policy", 2, "compact"}}, {{"cleanup.policy", 2, "compact"}}, {{"cleanup.policy", 3, "delete"}}, {{"cleanup.policy", 3, "delete"}}, {{"cleanup.policy", 2, "delete,compact"}}, {{"cleanup.policy", 3, "compact,delete"}},
			{{"max.message.bytes", 2, "1"}}, {{"max.message.bytes", 3, "1"}}, {{"max.message.bytes", 9, "1"}}, {{"max.message.bytes", -1, "1"}},
			{{"no.such.config", 0, "1"}}, {{"no.such.config", 1, "null"}}, {{"max.message.bytes", 0, "null"}}, {{"max.message.bytes", 0, ""}}, {{"max.message.bytes", 0, "x"}}, {{"cleanup.policy", 2, "null"}},
			{{"max.message.bytes", 0, "3000"}, {"max.message.bytes", 0, "4000"}}, {{"max.message.bytes", 0, "3000"}, {"no.such.config", 0, "1"}}, {{"max.message.bytes", 0, "5000"}, {"segment.ms", 0, "60000"}},
			{{"", 0, "1"}}, {{"leader.replication.throttled.replicas", 2, "0:1,1:1"}}, {{"leader.replication.throttled.replicas", 3, "0:1"}}, {{"leader.replication.throttled.replicas", 2, "x"}}, {},
		} {
			var name []string
			for _, c := range list {
				name = append(name, strings.TrimSpace(c.key+" "+string(rune('0'+c.op))+" "+c.value))
			}
			s.step("%s", strings.Join(name, ", ")).ask(s.changes(topicResource, s.name("a"), list...))
			s.set("a")
		}
	}},
	{"several mistakes at once", 0, 0, func(s *script) {
		for _, r := range named {
			for _, list := range [][]change{{{"segment.ms", 2, "1"}}, {{"segment.ms", 3, "1"}, {"flush.ms", 0, "null"}}, {{"segment.ms", 2, "1"}, {"flush.ms", 0, "x"}}, {{"segment.ms", 0, "x"}}, {{"no.such.config", 0, "1"}}, {{"segment.ms", 0, "1"}, {"segment.ms", 1, "null"}}, {{"no.such.config", 1, "null"}}, {}} {
				if r.kind == brokerResource && len(list) > 0 && list[0].op > 1 {
					continue // Kafka fails over a key that no broker has
				}
				s.step("%d %s: %v", r.kind, r.name, list).ask(s.changes(r.kind, r.name, list...))
			}
		}
		for _, c := range []change{{"root", 2, "INFO"}, {"root", 3, "INFO"}, {"no.such.logger", 2, "INFO"}, {"no.such.logger", 3, "x"}, {"no.such.logger", 0, "x"}, {"no.such.logger", 1, "null"}, {"no.such.logger", 0, "null"}, {"root", 0, "x"}} {
			req := s.changes(loggerResource, "1", c)
			req.ValidateOnly = true
			s.step("logger %s %d %s", c.key, c.op, c.value).ask(req)
		}
	}},
	{"values as Java reads them", 1, 1, func(s *script) {
		s.topic("a", 1)
		shown := func(kind kmsg.ConfigResourceType, name string, list ...change) {
			for _, c := range list {
				resp := s.step("%s %d %q", c.key, c.op, c.value).ask(s.changes(kind, name, c)).(*kmsg.IncrementalAlterConfigsResponse)
				if resp.Resources[0].ErrorCode == 0 {
					s.settled()
					s.askAt(4, s.configs(kind, name, c.key))
				}
			}
		}
		shown(topicResource, s.name("a"), change{"segment.ms", 0, "+6000"}, change{"segment.ms", 0, "007"}, change{"segment.ms", 0, "\t7\n"}, change{"segment.ms", 0, "\u00a07"}, change{"segment.ms", 0, "7\u2003"}, change{"segment.ms", 0, "1_000"}, change{"segment.ms", 0, "0x10"}, change{"segment.ms", 0, "5L"},
			change{"min.cleanable.dirty.ratio", 0, "0.5f"}, change{"min.cleanable.dirty.ratio", 0, "0.25D"}, change{"min.cleanable.dirty.ratio", 0, "0x1p-1"}, change{"min.cleanable.dirty.ratio", 0, "0x1p-1d"}, change{"min.cleanable.dirty.ratio", 0, "0x.f"}, change{"min.cleanable.dirty.ratio", 0, "1."}, change{"min.cleanable.dirty.ratio", 0, "0_1"}, change{"min.cleanable.dirty.ratio", 0, "f"}, change{"min.cleanable.dirty.ratio", 0, "1e-400"}, change{"min.cleanable.dirty.ratio", 0, "inf"},
			change{"preallocate", 0, " TRUE "}, change{"preallocate", 0, "\u00a0true"}, change{"compression.type", 0, " gzip "}, change{"message.timestamp.type", 0, " LogAppendTime "},
			change{"cleanup.policy", 0, " delete , compact "}, change{"cleanup.policy", 0, "delete,delete"}, change{"cleanup.policy", 2, "delete,,compact"}, change{"cleanup.policy", 2, ""}, change{"cleanup.policy", 2, ","}, change{"cleanup.policy", 2, "compact,"}, change{"cleanup.policy", 2, ",compact"}, change{"cleanup.policy", 3, ",delete,"}, change{"cleanup.policy", 3, ""},
			change{"leader.replication.throttled.replicas", 0, ","}, change{"leader.replication.throttled.replicas", 0, "0:1,0:1"}, change{"leader.replication.throttled.replicas", 3, "0:1"}, change{"leader.replication.throttled.replicas", 0, "0:1,"}, change{"leader.replication.throttled.replicas", 0, " 0:1 ,, 1:1 "}, change{"leader.replication.throttled.replicas", 0, "*,*"}, change{"leader.replication.throttled.replicas", 0, "*,0:1"})
		for _, reset := range []string{"PT1H ", "P1DT-1H", "PT+1H", "-PT-1H", "PT-0.5S", "PT1M-0.5S", "PT0S", "P99999999999999999D", "PT1,5S", "PT.5S", "p1dt1h"} {
			shown(groupResource, s.name("g"), change{"share.auto.offset.reset", 0, "by_duration:" + reset})
		}
		shown(groupResource, s.name("g"), change{"errors.deadletterqueue.topic.name", 0, " x "}, change{"streams.rack.aware.assignment.tags", 0, "a,a"}, change{"streams.rack.aware.assignment.tags", 0, "a,b"})
		shown(clientMetricsResource, s.name("m"), change{"match", 0, "client_id="}, change{"match", 0, "client_id=a=b"}, change{"match", 0, " client_id = x "}, change{"metrics", 0, "a,a"})
		for _, key := range []string{"share.auto.offset.reset", "errors.deadletterqueue.topic.name", "streams.rack.aware.assignment.tags"} {
			s.quiet(1, s.changes(groupResource, s.name("g"), change{key, 1, "null"}))
		}
		for _, key := range []string{"match", "metrics"} {
			s.quiet(1, s.changes(clientMetricsResource, s.name("m"), change{key, 1, "null"}))
		}
	}},
	{"every key with every kind of value", 1, 1, func(s *script) {
		s.topic("a", 1)
		for _, r := range []struct {
			kind kmsg.ConfigResourceType
			name string
		}{{topicResource, s.name("a")}, {brokerResource, "1"}, {groupResource, s.name("g")}, {clientMetricsResource, s.name("m")}} {
			for _, key := range s.changeable(r.kind, r.name) {
				byCode := map[string]any{}
				for _, value := range kindsOfValues {
					req := s.changes(r.kind, r.name, change{key, 0, value})
					req.ValidateOnly = true
					code := fmt.Sprint(s.quiet(1, req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode)
					values, _ := byCode[code].([]any)
					byCode[code] = append(values, any(value))
				}
				s.steps = append(s.steps, step{fmt.Sprintf("%d %s", r.kind, key), byCode})
			}
		}
	}},
	{"values and ranges", 0, 0, func(s *script) {
		s.topic("a", 1)
		for _, c := range [][2]string{
			{"retention.ms", "-1"}, {"retention.ms", "-2"}, {"retention.bytes", "-2"}, {"segment.bytes", "1000"}, {"segment.ms", "0"}, {"max.message.bytes", "0"}, {"min.insync.replicas", "0"}, {"min.insync.replicas", "3"},
			{"compression.type", "none"}, {"compression.type", "producer"}, {"cleanup.policy", "x"}, {"cleanup.policy", ""}, {"message.timestamp.type", "x"}, {"preallocate", "1"}, {"min.cleanable.dirty.ratio", "-0.1"},
			{"index.interval.bytes", "1"}, {"file.delete.delay.ms", "0"}, {"unclean.leader.election.enable", "false"}, {"remote.storage.enable", "true"}, {"remote.storage.enable", "false"}, {"retention.ms", "9223372036854775807"}, {"retention.ms", "9223372036854775808"}, {"max.message.bytes", "2147483648"},
		} {
			s.step("%s %s", c[0], c[1]).ask(s.changes(topicResource, s.name("a"), change{c[0], 0, c[1]}))
		}
	}},
	{"validate only", 0, 0, func(s *script) {
		s.topic("a", 1)
		for _, value := range []string{"2000", "x"} {
			req := s.changes(topicResource, s.name("a"), change{"max.message.bytes", 0, value})
			req.ValidateOnly = true
			s.step("%s", value).ask(req)
		}
		s.set("a")
	}},
	{"what is not there", 0, 0, func(s *script) {
		s.topic("a", 1)
		c := change{"retention.ms", 0, "1000"}
		s.step("topic").ask(s.changes(topicResource, s.name("none"), c))
		s.step("topic name that cannot be").ask(s.changes(topicResource, "a/b", c))
		s.step("empty topic name").ask(s.changes(topicResource, "", c))
		for _, kind := range []kmsg.ConfigResourceType{0, 3, 127} {
			s.step("resource type %d", kind).ask(s.changes(kind, "x", c))
		}
		two := s.changes(topicResource, s.name("a"), c)
		two.Resources = append(two.Resources, two.Resources[0])
		s.step("twice").ask(two)
		two.Resources[1] = s.changes(topicResource, s.name("none"), c).Resources[0]
		s.step("one of two").ask(two)
		two.Resources = nil
		s.step("nothing").ask(two)
	}},
	{"broker", 0, 0, func(s *script) {
		check := func(name string, list ...change) {
			req := s.changes(brokerResource, name, list...)
			req.ValidateOnly = true
			s.step("broker %s: %s %s", name, list[0].key, list[0].value).ask(req)
		}
		for _, name := range []string{"", "1"} {
			check(name, change{"log.retention.ms", 0, "1000000"})
			check(name, change{"message.max.bytes", 0, "2000000"})
			check(name, change{"message.max.bytes", 0, "-1"})
			check(name, change{"message.max.bytes", 0, "x"})
			check(name, change{"log.cleaner.threads", 0, "2"})
			check(name, change{"node.id", 0, "5"})
			check(name, change{"log.dirs", 0, "/tmp/x"})
			check(name, change{"no.such.config", 0, "5"})
			check(name, change{"max.connections", 0, "100"})
			check(name, change{"max.connections.per.ip", 0, "0"})
			check(name, change{"num.io.threads", 0, "0"})
			check(name, change{"log.cleanup.policy", 0, "compact"})
			check(name, change{"log.cleanup.policy", 2, "compact"})
			check(name, change{"log.retention.ms", 1, "null"})
			check(name, change{"advertised.listeners", 0, "PLAINTEXT://elsewhere:9092"})
			check(name, change{"log.cleanup.policy", 0, "delete,delete"})
			for _, key := range []string{"max.connections", "max.connection.creation.rate", "listener.name.plaintext.max.connections"} {
				check(name, change{key, 0, "0"})
			}
			for _, list := range []string{"127.0.0.1:1,", ",", ",127.0.0.1:1", "PLAINTEXT://:1", "some_host:1", "::1:1", "a b:1"} {
				check(name, change{"max.connections.per.ip.overrides", 0, list})
			}
			check(name, change{"log.remote.copy.lag.ms", 0, "604800000"})
			check(name, change{"log.remote.copy.lag.ms", 0, "604800001"})
			check(name, change{"log.remote.copy.lag.bytes", 0, "1"})
			check(name, change{"log.local.retention.ms", 0, "1000"}, change{"log.remote.copy.lag.ms", 0, "1001"})
			check(name, change{"log.retention.ms", 0, "1000"}, change{"log.remote.copy.lag.ms", 0, "1001"})
			check(name, change{"log.local.retention.bytes", 0, "1000"}, change{"log.retention.bytes", 0, "1000"}, change{"log.remote.copy.lag.bytes", 0, "1001"})
			for _, key := range []string{"remote.log.reader.threads", "remote.log.manager.copier.thread.pool.size", "remote.log.manager.expiration.thread.pool.size", "remote.log.manager.follower.thread.pool.size"} {
				for _, n := range []string{"0", "1", "4", "5", "20", "21"} {
					check(name, change{key, 0, n})
				}
			}
		}
		check("99", change{"log.retention.ms", 0, "1000000"})
		check("x", change{"log.retention.ms", 0, "1000000"})
		check("-1", change{"log.retention.ms", 0, "1000000"})
	}},
	{"group and client metrics", 0, 0, func(s *script) {
		for _, c := range []change{{"consumer.session.timeout.ms", 0, "50000"}, {"consumer.session.timeout.ms", 0, "1"}, {"consumer.heartbeat.interval.ms", 0, "6000"}, {"share.auto.offset.reset", 0, "earliest"}, {"share.auto.offset.reset", 0, "x"}, {"no.such.config", 0, "1"}, {"consumer.session.timeout.ms", 1, "null"}, {"consumer.heartbeat.interval.ms", 1, "null"}, {"share.auto.offset.reset", 1, "null"}} {
			s.step("group %s %s", c.key, c.value).ask(s.changes(groupResource, s.name("g"), c))
		}
		s.step("group without a name").ask(s.changes(groupResource, "", change{"consumer.session.timeout.ms", 0, "50000"}))
		for _, c := range []change{{"interval.ms", 0, "1000"}, {"interval.ms", 0, "1"}, {"metrics", 0, "org.example."}, {"match", 0, "client_id=x"}, {"match", 0, "nothing"}, {"no.such.config", 0, "1"}, {"interval.ms", 1, "null"}, {"metrics", 1, "null"}, {"match", 1, "null"}} {
			s.step("metrics %s %s", c.key, c.value).ask(s.changes(clientMetricsResource, s.name("m"), c))
		}
		s.step("metrics without a name").ask(s.changes(clientMetricsResource, "", change{"interval.ms", 0, "1000"}))
	}},
}

var listConfigResourcesScenarios = []scenario{
	{"resources", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.topic("b", 1, "retention.ms", "1000")
		s.alterQuietly(groupResource, s.name("g"), "consumer.session.timeout.ms", "50000")
		s.alterQuietly(clientMetricsResource, s.name("m"), "interval.ms", "1000")
		defer s.alterQuietly(groupResource, s.name("g"), "consumer.session.timeout.ms", "")
		defer s.alterQuietly(clientMetricsResource, s.name("m"), "interval.ms", "")
		req := kmsg.NewPtrListConfigResourcesRequest()
		s.step("all").ours(req)
		if s.v == 0 {
			return
		}
		for _, kinds := range [][]int8{{2}, {4}, {8}, {16}, {32}, {2, 4}, {3}, {0}, {2, 99}} {
			req.ResourceTypes = kinds
			s.step("types %v", kinds).ours(req)
		}
	}},
}
