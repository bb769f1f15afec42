package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// InitProducerId, versions 0 to 5.
//
//   - v2 flexible, v3 a producer may name the id and epoch it had (KIP-360),
//     v4 PRODUCER_FENCED, v5 TRANSACTION_ABORTABLE
//
// Without a transactional id every call gives a new producer id with epoch 0,
// whatever the producer had before. Version 6 (two-phase commit) is unstable
// in Kafka 4.4 and not advertised there either.
//
// With a transactional id the request is checked as Kafka checks it and then
// refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED, which transactional
// batches get too: there is no transaction coordinator here. It is the one
// code that every client gives up on at once; on UNSUPPORTED_VERSION, for
// one, librdkafka asks again twice a second for ever. The answer has no room
// for a sentence, so the log has it.
var initProducerIDAPI = api{key: 22, min: 0, max: 5, serve: initProducerID}

func initProducerID(a *admin, _ context.Context, c *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.InitProducerIDRequest)
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	switch {
	case req.TransactionalID != nil && *req.TransactionalID == "",
		(req.ProducerID == -1) != (req.ProducerEpoch == -1):
		resp.ErrorCode = kerr.InvalidRequest.Code
	case req.TransactionalID == nil:
		id, err := a.meta.AllocateProducerID()
		if err != nil {
			// Clients ask again.
			a.log.Warn("no producer id could be allocated", "error", err)
			resp.ErrorCode = kerr.CoordinatorLoadInProgress.Code
			break
		}
		resp.ProducerID, resp.ProducerEpoch = id, 0
	case req.TransactionTimeoutMillis <= 0 || req.TransactionTimeoutMillis > a.cfg.MaxTransactionTimeoutMs:
		resp.ErrorCode = kerr.InvalidTransactionTimeout.Code
	default:
		a.log.Warn("a transactional producer was refused: this release has no transactions",
			"transactional_id", clipped(*req.TransactionalID), "client_id", clipped(c.header.ClientID), "peer", c.remoteIP)
		resp.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
	}
	return resp
}

// clipped keeps what a client calls itself from filling the log.
func clipped(s string) string {
	const enough = 200
	if len(s) > enough {
		return s[:enough] + "..."
	}
	return s
}
