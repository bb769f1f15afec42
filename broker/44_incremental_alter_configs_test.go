package broker

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
)

type edit struct {
	key   string
	op    kmsg.IncrementalAlterConfigOp
	value string // "\x00" for null
}

const null = "\x00"

func edited(kind kmsg.ConfigResourceType, name string, edits ...edit) kmsg.IncrementalAlterConfigsRequestResource {
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, e := range edits {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op = e.key, e.op
		if e.value != null {
			c.Value = &e.value
		}
		r.Configs = append(r.Configs, c)
	}
	return r
}

func alterCodes(t *testing.T, a *admin, version int16, validateOnly bool, resources ...kmsg.IncrementalAlterConfigsRequestResource) []int16 {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources, req.ValidateOnly = resources, validateOnly
	resp := serve[*kmsg.IncrementalAlterConfigsResponse](t, a, version, req)
	codes := []int16{}
	for i, r := range resp.Resources {
		codes = append(codes, r.ErrorCode)
		if r.ResourceType != resources[i].ResourceType || r.ResourceName != resources[i].ResourceName {
			t.Errorf("answer %d is for %d %q", i, r.ResourceType, r.ResourceName)
		}
		if (r.ErrorCode != 0) != (r.ErrorMessage != nil) && r.ErrorCode != 7 {
			t.Errorf("%q: code %d, message %v", r.ResourceName, r.ErrorCode, r.ErrorMessage)
		}
	}
	return codes
}

func TestIncrementalAlterConfigsOfATopic(t *testing.T) {
	const set, remove, add, take = 0, 1, 2, 3
	for _, c := range []struct {
		name  string
		had   map[string]string
		edits []edit
		code  int16
		want  map[string]string // nil: as before
	}{
		{"set and delete", map[string]string{"retention.ms": "5"}, []edit{{"segment.ms", set, "5000"}, {"retention.ms", remove, null}}, 0, map[string]string{"segment.ms": "5000"}},
		{"delete what is not set", nil, []edit{{"flush.ms", remove, "zzz"}}, 0, nil},
		{"delete what does not exist", nil, []edit{{"nope", remove, null}}, 0, nil},
		{"append to the default", nil, []edit{{"cleanup.policy", add, "compact"}}, 0, map[string]string{"cleanup.policy": "delete,compact"}},
		{"append what is there", map[string]string{"cleanup.policy": "compact"}, []edit{{"cleanup.policy", add, "compact,delete"}}, 0, map[string]string{"cleanup.policy": "compact,delete"}},
		{"subtract", map[string]string{"cleanup.policy": "delete,compact"}, []edit{{"cleanup.policy", take, "delete"}}, 0, map[string]string{"cleanup.policy": "compact"}},
		{"subtract the last", map[string]string{"cleanup.policy": "compact"}, []edit{{"cleanup.policy", take, "compact"}}, 0, map[string]string{"cleanup.policy": ""}},
		{"nothing", nil, nil, 0, nil},
		{"append to a number", nil, []edit{{"segment.ms", add, "5000"}}, 40, nil},
		{"append nonsense", nil, []edit{{"cleanup.policy", add, "bogus"}}, 40, nil},
		{"set null", nil, []edit{{"segment.ms", set, null}}, 42, nil},
		{"append null", nil, []edit{{"cleanup.policy", add, null}}, 42, nil},
		{"no such operation", nil, []edit{{"segment.ms", 9, "5000"}}, 42, nil},
		{"a key twice", nil, []edit{{"segment.ms", set, "5000"}, {"segment.ms", set, "6000"}}, 42, nil},
		{"no such key", nil, []edit{{"nope", set, "1"}}, 40, nil},
		{"one bad of two", nil, []edit{{"retention.ms", set, "5"}, {"segment.ms", set, "abc"}}, 40, nil},
		{"bad together", map[string]string{"min.compaction.lag.ms": "100"}, []edit{{"max.compaction.lag.ms", set, "10"}}, 40, nil},
	} {
		for _, validateOnly := range []bool{true, false} {
			a, meta, _ := newAdmin(t)
			addTopic(t, meta, "x", 1)
			for key, value := range c.had {
				setConfig(t, meta, metadata.TopicResource, "x", key, value)
			}
			if got := alterCodes(t, a, 1, validateOnly, edited(2, "x", c.edits...)); got[0] != c.code {
				t.Errorf("%s: code %d, want %d", c.name, got[0], c.code)
			}
			want := c.want
			if want == nil || validateOnly {
				want = c.had
			}
			if got := meta.Image().Config(metadata.TopicResource, "x"); !maps.Equal(got, want) {
				t.Errorf("%s, validate only %v: %v, want %v", c.name, validateOnly, got, want)
			}
			if !validateOnly && c.want != nil && meta.served != meta.Image().Offset() {
				t.Errorf("%s: answered before it was in effect", c.name)
			}
		}
	}
}

func TestIncrementalAlterConfigsResources(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "x", 1)
	addTopic(t, meta, "y", 1)
	one := edit{"segment.ms", 0, "5000"}
	broker := func(key, value string) edit { return edit{key, 0, value} }
	for _, c := range []struct {
		resources []kmsg.IncrementalAlterConfigsRequestResource
		want      []int16
	}{
		{nil, []int16{}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(2, "x", one), edited(2, "x", one), edited(2, "y", one)}, []int16{42, 42, 0}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(2, "nope", one), edited(2, "a!", one), edited(2, "", one), edited(2, "x", one)}, []int16{3, 17, 42, 0}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(5, "g"), edited(0, "g"), edited(8, "1"), edited(8, "1", one)}, []int16{42, 42, 42, 42}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(8, "1", one)}, []int16{40}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(8, "2", one), edited(8, "", one)}, []int16{42, 42}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(4, "1", broker("num.partitions", "3"))}, []int16{42}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(4, "1", broker("node.id", "3"))}, []int16{42}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(4, "1", broker("log.retention.ms", "abc"))}, []int16{42}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(4, "2", broker("log.retention.ms", "1")), edited(4, "abc", broker("log.retention.ms", "1"))}, []int16{42, 42}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(4, "1", broker("unknown.thing", "3"))}, []int16{0}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(4, "1", broker("log.retention.ms", "900000")), edited(4, "", broker("log.retention.ms", "800000"))}, []int16{0, 0}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(4, "1", broker("log.cleanup.policy", "compact"), edit{"unknown.thing", 1, null})}, []int16{0}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(16, "m", edit{"interval.ms", 0, "1000"}), edited(16, "", edit{"interval.ms", 0, "1000"}),
			edited(16, "m2", edit{"interval.ms", 0, "1"}), edited(16, "m3", edit{"nope", 0, "1"})}, []int16{0, 42, 42, 42}},
		{[]kmsg.IncrementalAlterConfigsRequestResource{edited(32, "g", edit{"consumer.session.timeout.ms", 0, "50000"}), edited(32, "", edit{"consumer.session.timeout.ms", 0, "50000"}),
			edited(32, "g2", edit{"consumer.session.timeout.ms", 0, "5"}), edited(32, "g3", edit{"nope", 0, "1"})}, []int16{0, 42, 40, 40}},
	} {
		for version := int16(0); version <= 1; version++ {
			if got := alterCodes(t, a, version, false, c.resources...); !slices.Equal(got, c.want) {
				t.Errorf("v%d %+v: codes %v, want %v", version, c.resources, got, c.want)
			}
		}
	}
	img := meta.Image()
	if got := img.Config(metadata.BrokerResource, "1"); !maps.Equal(got, map[string]string{"log.retention.ms": "900000", "log.cleanup.policy": "compact"}) {
		t.Errorf("broker 1: %v", got)
	}
	if img.Config(metadata.BrokerResource, "")["log.retention.ms"] != "800000" || img.Config(metadata.GroupResource, "g") == nil || img.Config(metadata.ClientMetricsResource, "m") == nil {
		t.Error("a change is missing")
	}
	if names := img.ConfigNames(metadata.GroupResource); !slices.Equal(names, []string{"g"}) {
		t.Errorf("groups %v", names)
	}
	if r := describeAll(t, a, 4, describeResource(2, "x", "retention.ms"))[0]; configValue(t, r, "retention.ms") != "900000 from 2" {
		t.Errorf("a topic under the broker's configuration: %s", configValue(t, r, "retention.ms"))
	}
}

func TestIncrementalAlterConfigsTimesOut(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "x", 1)
	meta.failWith = context.DeadlineExceeded
	got := alterCodes(t, a, 1, false, edited(2, "x", edit{"segment.ms", 0, "5000"}), edited(2, "nope", edit{"segment.ms", 0, "5000"}))
	if !slices.Equal(got, []int16{7, 3}) {
		t.Errorf("codes %v, want 7 for what could have been done and 3 for what could not", got)
	}
}

func TestAlterConfigsReplacesAll(t *testing.T) {
	for version := int16(0); version <= 2; version++ {
		a, meta, _ := newAdmin(t)
		addTopic(t, meta, "x", 1, "retention.ms", "5", "segment.ms", "6000")
		setConfig(t, meta, metadata.BrokerResource, "1", "log.retention.ms", "900000")
		alter := func(validateOnly bool, kind kmsg.ConfigResourceType, name string, pairs ...string) int16 {
			req := kmsg.NewPtrAlterConfigsRequest()
			r := kmsg.NewAlterConfigsRequestResource()
			r.ResourceType, r.ResourceName = kind, name
			for i := 0; i < len(pairs); i += 2 {
				c := kmsg.NewAlterConfigsRequestResourceConfig()
				c.Name = pairs[i]
				if pairs[i+1] != null {
					c.Value = &pairs[i+1]
				}
				r.Configs = append(r.Configs, c)
			}
			req.Resources, req.ValidateOnly = append(req.Resources, r), validateOnly
			return serve[*kmsg.AlterConfigsResponse](t, a, version, req).Resources[0].ErrorCode
		}
		for _, c := range []struct {
			kind  kmsg.ConfigResourceType
			name  string
			pairs []string
			code  int16
		}{
			{2, "x", []string{"segment.ms", "abc"}, 40}, {2, "x", []string{"nope", "1"}, 40}, {2, "nope", []string{"segment.ms", "1"}, 3}, {2, "", nil, 42},
			{2, "x", []string{"segment.ms", null}, 42}, {2, "x", []string{"segment.ms", "1000", "segment.ms", "2000"}, 42},
			{4, "1", []string{"num.partitions", "3"}, 42}, {4, "2", nil, 42}, {4, "abc", nil, 42}, {4, "1", []string{"log.retention.ms", "abc"}, 42},
			{8, "1", []string{"root", "INFO"}, 42}, {5, "g", nil, 42}, {0, "g", nil, 42},
		} {
			if got := alter(false, c.kind, c.name, c.pairs...); got != c.code {
				t.Errorf("v%d %+v: code %d", version, c, got)
			}
		}
		had := map[string]string{"retention.ms": "5", "segment.ms": "6000"}
		if got := alter(true, 2, "x"); got != 0 || !maps.Equal(meta.Image().Config(metadata.TopicResource, "x"), had) {
			t.Errorf("v%d: validation: code %d, %v", version, got, meta.Image().Config(metadata.TopicResource, "x"))
		}
		if got := alter(false, 2, "x", "segment.ms", "6000", "flush.ms", "7"); got != 0 ||
			!maps.Equal(meta.Image().Config(metadata.TopicResource, "x"), map[string]string{"segment.ms": "6000", "flush.ms": "7"}) {
			t.Errorf("v%d: code %d, %v", version, got, meta.Image().Config(metadata.TopicResource, "x"))
		}
		if got := alter(false, 4, "1", "message.max.bytes", "2000000"); got != 0 ||
			!maps.Equal(meta.Image().Config(metadata.BrokerResource, "1"), map[string]string{"message.max.bytes": "2000000"}) {
			t.Errorf("v%d: code %d, %v", version, got, meta.Image().Config(metadata.BrokerResource, "1"))
		}
		if got := alter(false, 2, "x"); got != 0 || meta.Image().Config(metadata.TopicResource, "x") != nil {
			t.Errorf("v%d: code %d, %v", version, got, meta.Image().Config(metadata.TopicResource, "x"))
		}
		// One resource twice in a request: Kafka never answers that.
		req := kmsg.NewPtrAlterConfigsRequest()
		r := kmsg.NewAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = 2, "x"
		req.Resources = append(req.Resources, r, r)
		if out := serve[*kmsg.AlterConfigsResponse](t, a, version, req).Resources; len(out) != 2 || out[0].ErrorCode != 42 || out[1].ErrorCode != 42 {
			t.Errorf("v%d: %+v", version, out)
		}
	}
}
