package broker

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
)

// ApiVersions, versions 0 to 5: the first request on every connection.
//
//   - v3 flexible (but never the response header), name and version of the
//     client's software, features in tagged fields (KIP-584)
//   - v4 lists supported features from level 0 on, which Java clients before
//     3.9 cannot parse: below, they are left out (KAFKA-17492)
//   - v5 the client may say which cluster and node it thinks this is (KIP-1242)
//
// A version above these is answered by refuseApiVersions.
var apiVersionsAPI = api{key: 18, min: 0, max: 5, serve: apiVersions, quick: true}

func apiVersions(a *admin, _ context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.ApiVersionsRequest)
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	img := a.meta.Image()
	if req.Version >= 3 && (!softwareName(req.ClientSoftwareName) || !softwareName(req.ClientSoftwareVersion)) {
		resp.ErrorCode = kerr.InvalidRequest.Code
		return resp
	}
	if e := wrongNode(req, img.ClusterID(), a.cfg.NodeID); e != nil {
		resp.ErrorCode = e.Code
		return resp
	}
	resp.ApiKeys = advertisedKeys
	for _, f := range metadata.SupportedFeatures() {
		if req.Version < 4 && f.Min == 0 {
			continue
		}
		s := kmsg.NewApiVersionsResponseSupportedFeature()
		s.Name, s.MinVersion, s.MaxVersion = f.Name, f.Min, f.Max
		resp.SupportedFeatures = append(resp.SupportedFeatures, s)
	}
	resp.FinalizedFeaturesEpoch = img.FeaturesEpoch()
	levels := img.Features()
	for _, name := range sortedNames(levels) {
		f := kmsg.NewApiVersionsResponseFinalizedFeature()
		f.Name, f.MinVersionLevel, f.MaxVersionLevel = name, levels[name], levels[name]
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, f)
	}
	return resp
}

// refuseApiVersions answers a version that is not served. It goes out in
// version 0 whatever the request's was; clients read the one entry and ask
// again with a version in its range.
func refuseApiVersions() *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = kerr.UnsupportedVersion.Code
	resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{apiVersionsAPI.advertise()}
	return resp
}

// advertisedKeys is the table of APIs as clients see it, by key. It is filled
// when the process starts, because the table refers to the handler above.
var advertisedKeys []kmsg.ApiVersionsResponseApiKey

func init() { advertisedKeys = advertise(apis) }

func advertise(apis []api) []kmsg.ApiVersionsResponseApiKey {
	keys := make([]kmsg.ApiVersionsResponseApiKey, 0, len(apis))
	for i := range apis {
		keys = append(keys, apis[i].advertise())
	}
	slices.SortFunc(keys, func(x, y kmsg.ApiVersionsResponseApiKey) int { return int(x.ApiKey) - int(y.ApiKey) })
	return keys
}

func (a *api) advertise() kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = a.key, a.min, a.max
	if a.key == produceAPI.key {
		k.MinVersion = a.advertisedMin
	}
	return k
}

// softwareName says whether s is a name or version as KIP-511 allows it:
// letters, digits, '-' and '.', the first and last of them a letter or digit.
func softwareName(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		inside := i > 0 && i < len(s)-1
		if !alnum && !(inside && (c == '-' || c == '.')) {
			return false
		}
	}
	return true
}

// wrongNode checks what the client thinks it is connected to: cluster and node
// come together or not at all, and a client that means another one shall
// bootstrap again.
func wrongNode(req *kmsg.ApiVersionsRequest, cluster string, node int32) *kerr.Error {
	switch {
	case (req.ClusterID == nil) != (req.NodeID == -1):
		return kerr.InvalidRequest
	case req.ClusterID != nil && (*req.ClusterID != cluster || req.NodeID != node):
		return kerr.RebootstrapRequired
	}
	return nil
}
