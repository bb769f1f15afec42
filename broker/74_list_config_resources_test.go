package broker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
)

func TestListConfigResources(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "b", 1)
	addTopic(t, meta, "a", 1)
	value := "1000"
	meta.apply(t, metadata.ConfigRecord{Kind: metadata.ClientMetricsResource, Name: "m", Key: "interval.ms", Value: &value},
		metadata.ConfigRecord{Kind: metadata.GroupResource, Name: "g", Key: "consumer.session.timeout.ms", Value: &value})
	for _, c := range []struct {
		version int16
		types   []int8
		code    int16
		want    []string
	}{
		{0, nil, 0, []string{"16 m"}},
		{1, nil, 0, []string{"32 g", "16 m", "8 1", "4 1", "2 a", "2 b"}},
		{1, []int8{2}, 0, []string{"2 a", "2 b"}},
		{1, []int8{4, 16, 16}, 0, []string{"16 m", "4 1"}},
		{1, []int8{2, 5}, 35, nil}, {1, []int8{0}, 35, nil},
	} {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.ResourceTypes = c.types
		resp := serve[*kmsg.ListConfigResourcesResponse](t, a, c.version, req)
		var got []string
		for _, r := range resp.ConfigResources {
			got = append(got, fmt.Sprint(r.Type, " ", r.Name))
		}
		if c.version == 0 {
			got[0] = "16 " + resp.ConfigResources[0].Name
		}
		if resp.ErrorCode != c.code || !slices.Equal(got, c.want) {
			t.Errorf("v%d %v: code %d, %v; want %d, %v", c.version, c.types, resp.ErrorCode, got, c.code, c.want)
		}
	}
}
