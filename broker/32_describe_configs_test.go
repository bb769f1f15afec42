package broker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
)

type describedResource = kmsg.DescribeConfigsResponseResource

func describeResource(kind kmsg.ConfigResourceType, name string, keys ...string) kmsg.DescribeConfigsRequestResource {
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	if len(keys) > 0 {
		r.ConfigNames = keys
	}
	return r
}

func describeAll(t *testing.T, a *admin, version int16, resources ...kmsg.DescribeConfigsRequestResource) []describedResource {
	t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources, req.IncludeSynonyms, req.IncludeDocumentation = resources, true, true
	return serve[*kmsg.DescribeConfigsResponse](t, a, version, req).Resources
}

// configValue finds one configuration: its value and source.
func configValue(t *testing.T, r describedResource, key string) string {
	t.Helper()
	for _, c := range r.Configs {
		if c.Name == key {
			value := "null"
			if c.Value != nil {
				value = *c.Value
			}
			return fmt.Sprint(value, " from ", int8(c.Source))
		}
	}
	return "absent"
}

func setConfig(t *testing.T, m *stubMeta, kind metadata.ResourceKind, name, key, value string) {
	t.Helper()
	m.apply(t, metadata.ConfigRecord{Kind: kind, Name: name, Key: key, Value: &value})
}

func TestDescribeConfigsOfATopic(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "x", 1, "retention.ms", "1000")
	setConfig(t, meta, metadata.BrokerResource, "", "log.segment.bytes", "2000000")
	setConfig(t, meta, metadata.BrokerResource, "1", "message.max.bytes", "3000000")
	for version := int16(1); version <= 4; version++ {
		r := describeAll(t, a, version, describeResource(2, "x"))[0]
		if r.ErrorCode != 0 || r.ErrorMessage == nil || *r.ErrorMessage != "" || len(r.Configs) < 37 {
			t.Fatalf("v%d: %d, message %v, %d configurations", version, r.ErrorCode, r.ErrorMessage, len(r.Configs))
		}
		for key, want := range map[string]string{"retention.ms": "1000 from 1", "segment.bytes": "2000000 from 3",
			"max.message.bytes": "3000000 from 2", "cleanup.policy": "delete from 5"} {
			if got := configValue(t, r, key); got != want {
				t.Errorf("v%d: %s is %s, want %s", version, key, got, want)
			}
		}
		for _, c := range r.Configs {
			if version >= 3 && (c.ConfigType == 0 || c.Documentation == nil || *c.Documentation == "") {
				t.Errorf("v%d: %s has type %d and documentation %v", version, c.Name, c.ConfigType, c.Documentation)
			}
			if c.Name == "max.message.bytes" && (len(c.ConfigSynonyms) != 2 || *c.ConfigSynonyms[0].Value != "3000000" || c.ConfigSynonyms[0].Source != 2 ||
				c.ConfigSynonyms[1].Name != "message.max.bytes" || c.ConfigSynonyms[1].Source != 5) {
				t.Errorf("v%d: synonyms of max.message.bytes %+v", version, c.ConfigSynonyms)
			}
		}
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = []kmsg.DescribeConfigsRequestResource{describeResource(2, "x", "segment.ms", "nope", "retention.ms"), describeResource(2, "x", "segment.ms")}
	rs := serve[*kmsg.DescribeConfigsResponse](t, a, 4, req).Resources
	if len(rs) != 2 || len(rs[0].Configs) != 2 || len(rs[1].Configs) != 1 {
		t.Fatalf("only what was asked for: %+v", rs)
	}
	for _, c := range rs[0].Configs {
		if len(c.ConfigSynonyms) != 0 || c.Documentation != nil {
			t.Errorf("%s: synonyms and documentation were not asked for", c.Name)
		}
	}
	req.Resources[0].ConfigNames = []string{}
	if r := serve[*kmsg.DescribeConfigsResponse](t, a, 4, req).Resources[0]; len(r.Configs) < 37 {
		t.Errorf("an empty list of names gives %d configurations, want all", len(r.Configs))
	}
}

func TestDescribeConfigsOfABroker(t *testing.T) {
	a, meta, _ := newAdmin(t)
	if r := describeAll(t, a, 4, describeResource(4, ""))[0]; r.ErrorCode != 0 || len(r.Configs) != 0 {
		t.Errorf("nothing is set for all brokers: %+v", r)
	}
	setConfig(t, meta, metadata.BrokerResource, "", "log.retention.ms", "800000")
	rs := describeAll(t, a, 4, describeResource(4, ""), describeResource(4, "1"))
	if len(rs[0].Configs) != 1 || configValue(t, rs[0], "log.retention.ms") != "800000 from 3" {
		t.Errorf("for all brokers: %+v", rs[0].Configs)
	}
	for key, want := range map[string]string{"log.retention.ms": "800000 from 3", "node.id": "1 from 4", "num.io.threads": "8 from 5"} {
		if got := configValue(t, rs[1], key); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	for _, c := range rs[1].Configs {
		if c.Name == "node.id" && !c.ReadOnly || c.Name == "log.retention.ms" && c.ReadOnly {
			t.Errorf("%s: read only %v", c.Name, c.ReadOnly)
		}
	}
}

func TestDescribeConfigsMistakes(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "x", 1)
	rs := describeAll(t, a, 3, describeResource(2, "nope"), describeResource(2, "a!"), describeResource(2, ""), describeResource(4, "2"), describeResource(4, "abc"),
		describeResource(8, "1"), describeResource(8, "2"), describeResource(8, ""), describeResource(16, "m"), describeResource(16, ""),
		describeResource(32, "g"), describeResource(32, ""), describeResource(2, "x"))
	var codes []int16
	for _, r := range rs {
		codes = append(codes, r.ErrorCode)
		if r.ErrorMessage == nil || (r.ErrorCode != 0) == (*r.ErrorMessage == "") && r.ErrorCode != 3 {
			t.Errorf("%d %q: code %d, message %v", r.ResourceType, r.ResourceName, r.ErrorCode, r.ErrorMessage)
		}
		if r.ErrorCode != 0 && len(r.Configs) != 0 {
			t.Errorf("%d %q: %d configurations beside an error", r.ResourceType, r.ResourceName, len(r.Configs))
		}
	}
	if want := []int16{3, 17, 17, 42, 42, 0, 42, 42, 0, 42, 0, 42, 0}; !slices.Equal(codes, want) {
		t.Errorf("codes %v, want %v", codes, want)
	}
	if got := configValue(t, rs[8], "interval.ms"); got != "300000 from 5" {
		t.Errorf("interval.ms of a subscription nobody made: %s", got)
	}
	if got := configValue(t, rs[10], "consumer.session.timeout.ms"); got != "45000 from 5" {
		t.Errorf("consumer.session.timeout.ms of a group nobody configured: %s", got)
	}
	// Kafka does not read a request with an unknown type: all of it is refused.
	for _, kind := range []kmsg.ConfigResourceType{0, 5, 64} {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Resources = []kmsg.DescribeConfigsRequestResource{describeResource(2, "x"), describeResource(kind, "g")}
		for _, r := range serve[*kmsg.DescribeConfigsResponse](t, a, 4, req).Resources {
			if r.ErrorCode != 42 || len(r.Configs) != 0 {
				t.Errorf("type %d in the request: %q has code %d", kind, r.ResourceName, r.ErrorCode)
			}
		}
	}
}

// A resource costs five bytes in a request and tens of kilobytes in an answer.
func TestDescribeConfigsIsBounded(t *testing.T) {
	a, _, _ := newAdmin(t)
	req := kmsg.NewPtrDescribeConfigsRequest()
	for range 3000 {
		req.Resources = append(req.Resources, describeResource(4, "1"))
	}
	total := 0
	rs := serve[*kmsg.DescribeConfigsResponse](t, a, 4, req).Resources
	for _, r := range rs {
		total += len(r.Configs)
	}
	if total > maxDescribedConfigs+1000 || rs[0].ErrorCode != 0 || rs[2999].ErrorCode != 42 {
		t.Errorf("%d configurations, codes %d to %d", total, rs[0].ErrorCode, rs[2999].ErrorCode)
	}
}
