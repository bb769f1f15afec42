package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// AlterConfigs, versions 0 to 2 (v2 flexible): replaces all that was set on a
// resource by what the request has. Old clients use it; what they leave out
// goes back to its default.
//
// Kafka 4.4 never answers a request that names a resource twice or has an
// unknown type; here each of them is INVALID_REQUEST.
var alterConfigsAPI = api{key: 33, min: 0, max: 2, serve: alterConfigs}

func alterConfigs(a *admin, ctx context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.AlterConfigsRequest)
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	changes := make([]*configChange, len(req.Resources))
	for i := range req.Resources {
		ask := &req.Resources[i]
		c := &configChange{kind: ask.ResourceType, name: ask.ResourceName, replace: true}
		for _, e := range ask.Configs {
			c.edits = append(c.edits, configEdit{e.Name, kmsg.IncrementalAlterConfigOpSet, e.Value})
		}
		changes[i] = c
	}
	a.alterConfigs(ctx, changes, req.ValidateOnly)
	for _, c := range changes {
		out := kmsg.NewAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = c.kind, c.name
		out.ErrorCode, out.ErrorMessage = c.refusal().wire()
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}
