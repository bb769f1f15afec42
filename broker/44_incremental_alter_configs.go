package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// IncrementalAlterConfigs, versions 0 and 1 (v1 flexible): sets and deletes
// single configurations, and appends to and takes from those that are lists
// (KIP-339). Deleting what is not set does nothing.
//
// An operation that does not exist is INVALID_REQUEST; Kafka answers
// UNKNOWN_SERVER_ERROR.
var incrementalAlterConfigsAPI = api{key: 44, min: 0, max: 1, serve: incrementalAlterConfigs}

func incrementalAlterConfigs(a *admin, ctx context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.IncrementalAlterConfigsRequest)
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	changes := make([]*configChange, len(req.Resources))
	for i := range req.Resources {
		ask := &req.Resources[i]
		c := &configChange{kind: ask.ResourceType, name: ask.ResourceName}
		for _, e := range ask.Configs {
			c.edits = append(c.edits, configEdit{e.Name, e.Op, e.Value})
		}
		changes[i] = c
	}
	a.alterConfigs(ctx, changes, req.ValidateOnly)
	for _, c := range changes {
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = c.kind, c.name
		out.ErrorCode, out.ErrorMessage = c.refusal().wire()
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}
