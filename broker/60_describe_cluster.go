package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeCluster, versions 0 to 2.
//
//   - v1 the kind of endpoint that is wanted (KIP-919): 1 brokers, 2
//     controllers, which this listener does not serve
//   - v2 fenced brokers, if asked for (KIP-1073)
var describeClusterAPI = api{key: 60, min: 0, max: 2, serve: describeCluster, quick: true}

const (
	endpointBrokers     = 1
	endpointControllers = 2
)

func describeCluster(a *admin, _ context.Context, c *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.DescribeClusterRequest)
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.EndpointType, resp.ControllerID, resp.ClusterAuthorizedOperations = endpointBrokers, -1, operationsOmitted
	var why *refusal
	switch req.EndpointType {
	case endpointBrokers:
	case endpointControllers:
		why = refuse(kerr.MismatchedEndpointType, "this is a listener of brokers; controllers are described on their own")
	default:
		why = refuse(kerr.UnsupportedEndpointType, "there is no endpoint type %d: 1 is brokers, 2 is controllers", req.EndpointType)
	}
	if why != nil {
		resp.ErrorCode, resp.ErrorMessage = why.wire()
		return resp
	}
	img := a.meta.Image()
	resp.ClusterID, resp.ControllerID = img.ClusterID(), a.cfg.NodeID
	resp.ClusterAuthorizedOperations = operations(req.IncludeClusterAuthorizedOperations, allClusterOperations)
	for _, b := range img.Brokers() {
		e := b.Endpoint(c.listener)
		if e == nil || b.Fenced && !req.IncludeFencedBrokers {
			continue
		}
		out := kmsg.NewDescribeClusterResponseBroker()
		out.NodeID, out.Host, out.Port, out.Rack, out.IsFenced = b.ID, e.Host, e.Port, rackOf(b), b.Fenced
		resp.Brokers = append(resp.Brokers, out)
	}
	return resp
}
