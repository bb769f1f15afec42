package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
)

// FindCoordinator, versions 0 to 6.
//
//   - v1 the kind of coordinator; before, groups are meant
//   - v3 flexible, v4 several keys at once (KIP-699), v6 share coordinators (KIP-932)
//
// The offsets topic is created when it is first looked for, and the answer waits for
// it; in Kafka it is COORDINATOR_NOT_AVAILABLE meanwhile, and clients ask again. Where
// there is no coordinator of a kind the answer is one that clients give up on:
// TRANSACTIONAL_ID_AUTHORIZATION_FAILED for transactions, as InitProducerId has it (on
// any other librdkafka asks again for ever), and for share coordinators, which only
// brokers look for, INVALID_REQUEST.
var findCoordinatorAPI = api{key: 10, min: 0, max: 6, serve: findCoordinator}

// The kinds of coordinators.
const (
	groupCoordinator       = 0
	transactionCoordinator = 1
	shareCoordinator       = 2
)

func findCoordinator(a *admin, ctx context.Context, c *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.FindCoordinatorRequest)
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	kind := req.CoordinatorType
	if req.Version == 0 {
		kind = groupCoordinator
	}
	err := kerr.InvalidRequest // of all keys
	switch kind {
	case groupCoordinator:
		err = a.ensureOffsetsTopic(ctx)
	case transactionCoordinator:
		err = kerr.TransactionalIDAuthorizationFailed
		a.log.Warn("a transactional producer was refused: this release has no transactions", "client_id", clipped(c.header.ClientID), "peer", c.remoteIP)
	}
	img := a.meta.Image()
	if req.Version < 4 {
		e, node, endpoint := a.coordinatorOf(img, c.listener, req.CoordinatorKey, err)
		resp.ErrorMessage = kmsg.StringPtr("NONE") // what Kafka writes for success
		if e != nil {
			resp.ErrorCode, resp.ErrorMessage = e.Code, &e.Description
		}
		resp.NodeID, resp.Host, resp.Port = node, endpoint.Host, endpoint.Port
		return resp
	}
	for _, key := range req.CoordinatorKeys {
		e, node, endpoint := a.coordinatorOf(img, c.listener, key, err)
		out := kmsg.NewFindCoordinatorResponseCoordinator()
		out.Key, out.ErrorMessage = key, new(string)
		if e != nil {
			out.ErrorCode = e.Code
		}
		if kind < groupCoordinator || kind > shareCoordinator { // the only case in which Kafka says why
			out.ErrorMessage = &e.Description
		}
		out.NodeID, out.Host, out.Port = node, endpoint.Host, endpoint.Port
		resp.Coordinators = append(resp.Coordinators, out)
	}
	return resp
}

// nowhere is what Kafka answers in place of a broker that is not known.
var nowhere = metadata.Endpoint{Port: -1}

// coordinatorOf finds the broker that leads the group's partition, unless err says
// already that there is none.
func (a *admin) coordinatorOf(img *metadata.Image, listener, id string, err *kerr.Error) (*kerr.Error, int32, metadata.Endpoint) {
	if err != nil {
		return err, -1, nowhere
	}
	if t := img.Topic(offsetsTopic); t != nil {
		p := t.Partition(partitionOfGroup(id, int32(len(t.Partitions))))
		if b := img.Broker(p.Leader); b != nil && !b.Fenced {
			if e := b.Endpoint(listener); e != nil {
				return nil, b.ID, *e
			}
		}
	}
	return kerr.CoordinatorNotAvailable, -1, nowhere
}
