package broker

import (
	"context"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
)

// ListConfigResources, versions 0 and 1: what configurations can be asked for.
//
//   - v0 subscriptions to client metrics only (it was ListClientMetricsResources)
//   - v1 any kind of resource, an empty list meaning all (KIP-1142)
//
// Groups and client metrics are listed where they have configurations; topics
// and brokers always.
var listConfigResourcesAPI = api{key: 74, min: 0, max: 1, serve: listConfigResources}

func listConfigResources(a *admin, _ context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.ListConfigResourcesRequest)
	resp := req.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	listed := []int8{int8(kmsg.ConfigResourceTypeGroupConfig), int8(kmsg.ConfigResourceTypeClientMetrics),
		int8(kmsg.ConfigResourceTypeBrokerLogger), int8(kmsg.ConfigResourceTypeBroker), int8(kmsg.ConfigResourceTypeTopic)}
	wanted := req.ResourceTypes
	switch {
	case req.Version == 0:
		wanted = []int8{int8(kmsg.ConfigResourceTypeClientMetrics)}
	case len(wanted) == 0:
		wanted = listed
	}
	for _, kind := range wanted {
		if !slices.Contains(listed, kind) {
			resp.ErrorCode = kerr.UnsupportedVersion.Code // sic: what Kafka says of an unknown kind
			return resp
		}
	}
	img := a.meta.Image()
	for _, kind := range listed {
		if !slices.Contains(wanted, kind) {
			continue
		}
		for _, name := range configResourceNames(img, kind) {
			out := kmsg.NewListConfigResourcesResponseConfigResource()
			out.Name, out.Type = name, kind
			resp.ConfigResources = append(resp.ConfigResources, out)
		}
	}
	return resp
}

func configResourceNames(img *metadata.Image, kind int8) []string {
	switch kmsg.ConfigResourceType(kind) {
	case kmsg.ConfigResourceTypeTopic:
		return img.TopicNames()
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
		var ids []string
		for _, b := range img.Brokers() {
			if !b.Fenced {
				ids = append(ids, strconv.Itoa(int(b.ID)))
			}
		}
		return ids
	}
	return img.ConfigNames(metadata.ResourceKind(kind))
}
