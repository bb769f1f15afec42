package broker

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/config"
	"ringmain/metadata"
)

// DescribeConfigs, versions 1 to 4.
//
//   - v1 where a value comes from, and what it would be without (synonyms)
//   - v3 types and documentation, v4 flexible
//
// Every configuration that a resource has is answered, set or not: clients
// read all of them, change one and write all of them back. No names, or null,
// mean all; names that do not exist are left out. For the broker "" only what
// was set for all brokers is answered.
var describeConfigsAPI = api{key: 32, min: 1, max: 4, serve: describeConfigs}

func describeConfigs(a *admin, _ context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.DescribeConfigsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	var whole *refusal
	for i := range req.Resources {
		if kind := req.Resources[i].ResourceType; !knownResourceType(kind) {
			// Kafka cannot read the request then, and refuses all of it.
			whole = refuse(kerr.InvalidRequest, "the request asks for resource type %d, which does not exist", kind)
		}
	}
	img, left := a.meta.Image(), maxDescribedConfigs
	resp.Resources = make([]kmsg.DescribeConfigsResponseResource, 0, len(req.Resources))
	for i := range req.Resources {
		ask := &req.Resources[i]
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = ask.ResourceType, ask.ResourceName
		entries, why := []config.Entry(nil), whole
		if why == nil && left <= 0 {
			why = refuse(kerr.InvalidRequest, "the answer would hold more than %d configurations; ask for fewer resources at a time", maxDescribedConfigs)
		}
		if why == nil {
			entries, why = a.describe(img, ask.ResourceType, ask.ResourceName)
		}
		out.ErrorCode, out.ErrorMessage = why.wire()
		if out.ErrorMessage == nil {
			out.ErrorMessage = new(string) // Kafka: empty, not null
		}
		wanted := nameSet(ask.ConfigNames)
		for j := range entries {
			if wanted == nil || wanted[entries[j].Name] {
				out.Configs = append(out.Configs, describedConfig(&entries[j], req))
			}
		}
		left -= len(out.Configs)
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}

// maxDescribedConfigs bounds one answer: a resource takes a few bytes in the
// request and tens of kilobytes in the answer. All topics of a broker with
// 10,000 of them fit.
const maxDescribedConfigs = 500_000

// nameSet gives the names that are wanted, nil for all.
func nameSet(names []string) map[string]bool {
	if len(names) == 0 {
		return nil
	}
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func knownResourceType(t kmsg.ConfigResourceType) bool {
	switch t {
	case kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger,
		kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig:
		return true
	}
	return false
}

// describe gives all configurations of one resource.
func (a *admin) describe(img *metadata.Image, kind kmsg.ConfigResourceType, name string) ([]config.Entry, *refusal) {
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		if bad := checkTopicName(name); bad != nil {
			return nil, bad
		}
		if img.Topic(name) == nil {
			return nil, bare(kerr.UnknownTopicOrPartition)
		}
		return a.configs.layers(img, a.cfg.NodeID).DescribeTopic(img.Config(metadata.TopicResource, name)), nil
	case kmsg.ConfigResourceTypeBroker:
		if name == "" {
			return a.configs.layers(img, a.cfg.NodeID).DescribeBrokerDefaults(), nil
		}
		if bad := a.checkNode(name); bad != nil {
			return nil, bad
		}
		return a.configs.layers(img, a.cfg.NodeID).DescribeBroker(), nil
	case kmsg.ConfigResourceTypeBrokerLogger:
		if bad := a.checkNode(name); bad != nil {
			return nil, bad
		}
		return a.loggers.describe(), nil
	case kmsg.ConfigResourceTypeClientMetrics:
		if name == "" {
			return nil, refuse(kerr.InvalidRequest, "a subscription to client metrics needs a name")
		}
		return config.DescribeClientMetrics(img.Config(metadata.ClientMetricsResource, name)), nil
	}
	if name == "" {
		return nil, refuse(kerr.InvalidRequest, "a group needs a name")
	}
	return a.configs.layers(img, a.cfg.NodeID).DescribeGroup(img.Config(metadata.GroupResource, name)), nil
}

// checkNode says what is wrong with the name of a broker resource: it must be
// this broker's id, because each broker answers for itself.
func (a *admin) checkNode(name string) *refusal {
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case name == "":
		return refuse(kerr.InvalidRequest, "the broker's id is missing")
	case err != nil:
		return refuse(kerr.InvalidRequest, "%q is no broker id: it must be a number", name)
	case int32(id) != a.cfg.NodeID:
		return refuse(kerr.InvalidRequest, "this is broker %d; ask broker %d itself about its configuration", a.cfg.NodeID, id)
	}
	return nil
}

func nodeName(id int32) string { return strconv.Itoa(int(id)) }

func describedConfig(e *config.Entry, req *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	out := kmsg.NewDescribeConfigsResponseResourceConfig()
	out.Name, out.Value, out.ReadOnly, out.IsSensitive = e.Name, textOrNull(e.Value, e.Null), e.ReadOnly, e.Sensitive
	out.Source, out.ConfigType = kmsg.ConfigSource(e.Source), kmsg.ConfigType(e.Type)
	if req.IncludeSynonyms {
		for _, s := range e.Synonyms {
			y := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			y.Name, y.Value, y.Source = s.Name, textOrNull(s.Value, s.Null), kmsg.ConfigSource(s.Source)
			out.ConfigSynonyms = append(out.ConfigSynonyms, y)
		}
	}
	if req.IncludeDocumentation {
		out.Documentation = &e.Doc
	}
	return out
}
