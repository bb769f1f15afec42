package conformance

import (
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var metadataScenarios = []scenario{
	{"by name", 0, 0, func(s *script) {
		s.topic("a", 2)
		s.topic("b", 1)
		s.step("two").ask(s.metadata("b", "a"))
		s.step("twice").ask(s.metadata("a", "a"))
		s.step("one is not there").ask(s.metadata("a", "none"))
		s.step("names that cannot be").ask(s.metadata("=.", "=a/b", "="+strings.Repeat("x", 250)))
		s.step("an empty name").ask(s.metadata("="))
	}},
	{"all and none", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.topic("b", 2)
		all := s.metadata()
		all.Topics = nil
		s.step("all").ours(all)
		if s.v > 0 {
			s.step("none").ask(s.metadata())
		}
	}},
	{"creating by asking", 0, 0, func(s *script) {
		req := func(allow bool) *kmsg.MetadataRequest {
			r := s.metadata("auto")
			r.AllowAutoTopicCreation = allow
			return r
		}
		if s.v >= 4 {
			s.step("not allowed").ask(req(false))
			s.step("not allowed, again").ask(req(false))
		}
		s.step("first").ask(req(true))
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			r := s.metadata("auto")
			if t := s.quiet(9, r).(*kmsg.MetadataResponse).Topics[0]; t.ErrorCode == 0 && len(t.Partitions) > 0 && t.Partitions[0].ErrorCode == 0 {
				break
			} else if time.Now().After(deadline) {
				s.t.Fatalf("topic was not created: error %d", t.ErrorCode)
			}
		}
		s.ready("auto", 0)
		s.step("then").ask(req(true))
		bad := s.metadata("=a/b", "auto.2", "auto_2")
		bad.AllowAutoTopicCreation = true
		s.step("names that cannot be").ask(bad)
	}},
	{"by id", 10, 0, func(s *script) {
		s.topic("a", 2)
		by := func(id [16]byte, name *string) *kmsg.MetadataRequest {
			req := s.metadata()
			t := kmsg.NewMetadataRequestTopic()
			t.TopicID, t.Topic = id, name
			req.Topics = append(req.Topics, t)
			return req
		}
		s.step("known").ask(by(s.id("a"), nil))
		s.step("unknown").ask(by(s.id("none"), nil))
		s.step("zero").ask(by([16]byte{}, nil))
		s.step("and its name").ask(by(s.id("a"), ptr(s.name("a"))))
		s.step("and another name").ask(by(s.id("a"), ptr(s.name("none"))))
		two := by(s.id("a"), nil)
		two.Topics = append(two.Topics, by(s.id("none"), nil).Topics...)
		s.step("two").ask(two)
		two.Topics = append(two.Topics, s.metadata("a").Topics...)
		s.step("and one by name").ask(two)
	}},
	{"null name", 9, 9, func(s *script) {
		req := s.metadata()
		req.Topics = append(req.Topics, kmsg.NewMetadataRequestTopic())
		s.ask(req)
	}},
	{"authorized operations", 8, 0, func(s *script) {
		s.topic("a", 1)
		req := s.metadata("a", "none")
		req.IncludeTopicAuthorizedOperations = true
		s.step("topic").ask(req)
		if s.v <= 10 {
			req.IncludeClusterAuthorizedOperations = true
			s.step("cluster").ask(req)
		}
	}},
	{"authorized operations by id", 12, 0, func(s *script) {
		s.topic("a", 1)
		req := s.metadata()
		for _, topic := range []string{"a", "none"} {
			t := kmsg.NewMetadataRequestTopic()
			t.TopicID = s.id(topic)
			req.Topics = append(req.Topics, t)
		}
		req.IncludeTopicAuthorizedOperations = true
		s.ask(req)
	}},
}

var apiVersionsScenarios = []scenario{
	{"versions", 0, 0, func(s *script) {
		req := func(name, version string) *kmsg.ApiVersionsRequest {
			r := kmsg.NewPtrApiVersionsRequest()
			r.ClientSoftwareName, r.ClientSoftwareVersion, r.NodeID = name, version, -1
			return r
		}
		s.step("first").ask(req("conformance", "1.0"))
		s.step("again").ask(req("conformance", "1.0"))
		if s.v < 3 {
			return
		}
		for _, c := range [][2]string{{"", "1.0"}, {"x", ""}, {"-x", "1"}, {"x-", "1"}, {"x y", "1"}, {"x", "1.0-rc.1"}, {"x", "1_0"}, {strings.Repeat("n", 300), "1"}, {"ä", "1"}} {
			s.step("%.8q %q", c[0], c[1]).ask(req(c[0], c[1]))
		}
	}},
	{"cluster and node", 5, 5, func(s *script) {
		cluster := s.quiet(2, kmsg.NewPtrMetadataRequest()).(*kmsg.MetadataResponse).ClusterID
		for _, c := range []struct {
			name    string
			cluster *string
			node    int32
		}{
			{"ours", cluster, 1}, {"another cluster", ptr("AAAAAAAAAAAAAAAAAAAAAA"), 1}, {"another node", cluster, 2}, {"no node", cluster, -1}, {"no cluster", nil, 1}, {"empty cluster", ptr(""), 1}, {"node -2", cluster, -2}, {"neither", nil, -1},
		} {
			r := kmsg.NewPtrApiVersionsRequest()
			r.ClientSoftwareName, r.ClientSoftwareVersion, r.ClusterID, r.NodeID = "conformance", "1", c.cluster, c.node
			s.step("%s", c.name).ask(r)
		}
	}},
	{"a version that is not", 0, 0, func(s *script) {
		for _, v := range []int16{6, 99, 32767} {
			r := kmsg.NewPtrApiVersionsRequest()
			r.ClientSoftwareName, r.ClientSoftwareVersion, r.NodeID = "conformance", "1", -1
			s.step("version %d", v).askAt(v, r)
		}
	}},
}

var describeClusterScenarios = []scenario{
	{"endpoint types", 0, 0, func(s *script) {
		for _, kind := range []int8{1, 2, 3, 0, -1} {
			if s.v == 0 && kind != 1 {
				continue
			}
			for _, operations := range []bool{false, true} {
				req := kmsg.NewPtrDescribeClusterRequest()
				req.EndpointType, req.IncludeClusterAuthorizedOperations, req.IncludeFencedBrokers = kind, operations, operations
				s.step("type %d operations %v", kind, operations).ask(req)
			}
		}
	}},
}

var describeQuorumScenarios = []scenario{
	{"partitions", 0, 0, func(s *script) {
		ask := func(topic string, partitions ...int32) {
			req := kmsg.NewPtrDescribeQuorumRequest()
			t := kmsg.NewDescribeQuorumRequestTopic()
			t.Topic = topic
			for _, p := range partitions {
				t.Partitions = append(t.Partitions, kmsg.DescribeQuorumRequestTopicPartition{Partition: p})
			}
			req.Topics = append(req.Topics, t)
			s.step("%s %v", topic, partitions).ask(req)
		}
		ask("__cluster_metadata", 0)
		ask("__cluster_metadata", 1)
		ask("__cluster_metadata")
		ask("__cluster_metadata", 0, 0)
		ask("another", 0)
		ask("another")
		s.step("nothing").ask(kmsg.NewPtrDescribeQuorumRequest())
	}},
}

var updateFeaturesScenarios = []scenario{
	{"updates", 0, 0, func(s *script) {
		level := func() int16 {
			r := kmsg.NewPtrApiVersionsRequest()
			r.ClientSoftwareName, r.ClientSoftwareVersion = "conformance", "1"
			for _, f := range s.quiet(4, r).(*kmsg.ApiVersionsResponse).FinalizedFeatures {
				if f.Name == "metadata.version" {
					return f.MaxVersionLevel
				}
			}
			s.t.Fatal("metadata.version is not finalized")
			return 0
		}()
		ask := func(name, feature string, to int16, kind int8) {
			req := kmsg.NewPtrUpdateFeaturesRequest()
			req.TimeoutMillis, req.ValidateOnly = 20000, true
			u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
			u.Feature, u.MaxVersionLevel, u.UpgradeType, u.AllowDowngrade = feature, to, kind, kind > 1
			req.FeatureUpdates = append(req.FeatureUpdates, u)
			s.step("%s", name).ask(req)
		}
		ask("the same level", "metadata.version", level, 1)
		ask("too high", "metadata.version", level+1, 1)
		ask("far too high", "metadata.version", 1000, 1)
		ask("below the lowest", "metadata.version", 1, 3)
		ask("negative", "metadata.version", -1, 1)
		ask("removal", "metadata.version", 0, 2)
		ask("an upgrade that is none", "metadata.version", level-1, 1)
		ask("unknown feature", "no.such.feature", 1, 1)
		ask("unknown feature removed", "no.such.feature", 0, 2)
		ask("empty name", "", 1, 1)
		ask("kraft.version", "kraft.version", 9, 1)
		if s.v > 0 {
			ask("kind 0", "metadata.version", level-1, 0)
			ask("kind 4", "metadata.version", level-1, 4)
			ask("kind -1", "metadata.version", level, -1)
		}
		none := kmsg.NewPtrUpdateFeaturesRequest()
		none.TimeoutMillis = 20000
		s.step("nothing").ask(none)
	}},
	{"several", 0, 0, func(s *script) {
		req := kmsg.NewPtrUpdateFeaturesRequest()
		req.TimeoutMillis, req.ValidateOnly = 20000, true
		for _, f := range []string{"metadata.version", "no.such.feature"} {
			u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
			u.Feature, u.MaxVersionLevel, u.UpgradeType = f, 1000, 1
			req.FeatureUpdates = append(req.FeatureUpdates, u)
		}
		s.step("two bad").ask(req)
	}},
	{"timeouts", 0, 0, func(s *script) {
		for _, ms := range []int32{0, -1} {
			req := kmsg.NewPtrUpdateFeaturesRequest()
			req.TimeoutMillis = ms
			u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
			u.Feature, u.MaxVersionLevel, u.UpgradeType = "group.version", 1, 1
			req.FeatureUpdates = append(req.FeatureUpdates, u)
			s.step("%d", ms).ask(req)
		}
	}},
	{"of one feature", 1, 0, func(s *script) {
		for _, levels := range [][]int16{{1, 0}, {0, 1000}, {1000, 0}} {
			req := kmsg.NewPtrUpdateFeaturesRequest()
			req.TimeoutMillis, req.ValidateOnly = 20000, true
			for _, level := range levels {
				u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
				u.Feature, u.MaxVersionLevel, u.UpgradeType = "kraft.version", level, 2
				req.FeatureUpdates = append(req.FeatureUpdates, u)
			}
			s.step("levels %v", levels).ask(req)
		}
	}},
}

var electLeadersScenarios = []scenario{
	{"elections", 0, 0, func(s *script) {
		s.topic("a", 2)
		ask := func(name string, kind int8, topic string, partitions ...int32) {
			req := kmsg.NewPtrElectLeadersRequest()
			req.ElectionType, req.TimeoutMillis = kind, 20000
			t := kmsg.NewElectLeadersRequestTopic()
			t.Topic, t.Partitions = s.name(topic), partitions
			req.Topics = append(req.Topics, t)
			s.step("%s", name).ask(req)
		}
		ask("preferred", 0, "a", 0, 1)
		ask("unclean", 1, "a", 0)
		ask("unknown topic", 0, "none", 0)
		ask("unknown partition", 0, "a", 0, 5)
		ask("no partition", 0, "a")
		if s.v > 0 {
			ask("kind 7", 7, "a", 0)
		}
		none := kmsg.NewPtrElectLeadersRequest()
		none.TimeoutMillis, none.Topics = 20000, []kmsg.ElectLeadersRequestTopic{}
		s.step("nothing").ask(none)
		all := kmsg.NewPtrElectLeadersRequest()
		all.TimeoutMillis, all.Topics = 20000, nil
		s.step("all").ours(all)
	}},
	{"timeouts", 0, 0, func(s *script) {
		s.topic("a", 1)
		for _, ms := range []int32{0, -1} {
			for _, kind := range []int8{0, 7} {
				req := kmsg.NewPtrElectLeadersRequest()
				req.TimeoutMillis, req.ElectionType = ms, kind
				for _, topic := range []string{"a", "none"} {
					t := kmsg.NewElectLeadersRequestTopic()
					t.Topic, t.Partitions = s.name(topic), []int32{0, 9}
					req.Topics = append(req.Topics, t)
				}
				s.step("%d, type %d", ms, kind).ask(req)
			}
			all := kmsg.NewPtrElectLeadersRequest()
			all.TimeoutMillis, all.Topics = ms, nil
			s.step("%d, all", ms).ours(all)
		}
	}},
}

var listPartitionReassignmentsScenarios = []scenario{
	{"reassignments", 0, 0, func(s *script) {
		s.topic("a", 1)
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.TimeoutMillis, req.Topics = 20000, nil
		s.step("all").ask(req)
		req.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{}
		s.step("nothing").ask(req)
		for _, topic := range []string{"a", "none"} {
			t := kmsg.NewListPartitionReassignmentsRequestTopic()
			t.Topic, t.Partitions = s.name(topic), []int32{0, 4}
			req.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{t}
			s.step("%s", topic).ask(req)
		}
	}},
}

func (s *script) logDirs(topic string, partitions ...int32) *kmsg.DescribeLogDirsRequest {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	t := kmsg.NewDescribeLogDirsRequestTopic()
	t.Topic, t.Partitions = s.name(topic), partitions
	req.Topics = append(req.Topics, t)
	return req
}

var describeLogDirsScenarios = []scenario{
	{"partitions", 0, 0, func(s *script) {
		s.topic("empty", 1)
		s.filled("a", 2)
		s.put("a", 1, s.batch("more"))
		s.step("one").ask(s.logDirs("a", 0))
		s.step("two").ask(s.logDirs("a", 0, 1))
		s.step("an empty one").ask(s.logDirs("empty", 0))
		s.step("unknown partition").ask(s.logDirs("a", 1, 9))
		s.step("unknown topic").ask(s.logDirs("none", 0))
		s.step("no partition").ask(s.logDirs("a"))
		all := s.logDirs("a")
		all.Topics = nil
		s.step("all").ours(all)
		all.Topics = []kmsg.DescribeLogDirsRequestTopic{}
		s.step("nothing").ask(all)
		two := s.logDirs("a", 0)
		two.Topics = append(two.Topics, s.logDirs("empty", 0).Topics...)
		s.step("two topics").ask(two)
	}},
	{"after records were deleted", 0, 0, func(s *script) {
		s.filled("a", 1)
		s.deleteRecords("a", 0, 4)
		s.ask(s.logDirs("a", 0))
	}},
}

var describeTopicPartitionsScenarios = []scenario{
	{"topics", 0, 0, func(s *script) {
		s.topic("a", 3)
		s.topic("b", 2)
		s.topic("c", 1)
		ask := func(name string, limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, topics ...string) {
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			req.ResponsePartitionLimit, req.Cursor = limit, cursor
			for _, n := range topics {
				t := kmsg.NewDescribeTopicPartitionsRequestTopic()
				t.Topic = s.name(n)
				req.Topics = append(req.Topics, t)
			}
			s.step("%s", name).ours(req)
		}
		from := func(topic string, partition int32) *kmsg.DescribeTopicPartitionsRequestCursor {
			c := kmsg.NewDescribeTopicPartitionsRequestCursor()
			c.Topic, c.Partition = s.name(topic), partition
			return &c
		}
		ask("in order", 2000, nil, "b", "a", "c")
		ask("twice", 2000, nil, "a", "a")
		ask("unknown", 2000, nil, "a", "none")
		ask("limit 1", 1, nil, "a", "b")
		ask("limit 3", 3, nil, "a", "b")
		ask("limit 4", 4, nil, "a", "b")
		ask("limit 0", 0, nil, "a", "b")
		ask("limit -1", -1, nil, "a")
		ask("from the middle", 2000, from("a", 1), "a", "b", "c")
		ask("from the second", 2000, from("b", 0), "a", "b", "c")
		ask("from behind the last partition", 2000, from("a", 3), "a", "b")
		ask("from a topic that is not asked for", 2000, from("aa", 0), "a", "b", "c")
		ask("from partition -1", 2000, from("a", -1), "a")
		ask("from the middle with a limit", 2, from("a", 1), "a", "b", "c")
		ask("behind everything", 2000, from("zz", 0), "a")
		ask("names that cannot be", 2000, nil, "=a/b")
		ask("a cursor and no topics", 2, from("b", 0))
	}},
}
