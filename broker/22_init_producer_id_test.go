package broker

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestInitProducerIDWithoutTransactionalID(t *testing.T) {
	a, meta, _ := newAdmin(t)
	next := int64(0)
	for version := int16(0); version <= 5; version++ {
		for _, had := range []int64{-1, 77} {
			if had >= 0 && version < 3 {
				continue
			}
			req := kmsg.NewPtrInitProducerIDRequest()
			req.TransactionTimeoutMillis = -5 // not looked at
			if had >= 0 {
				req.ProducerID, req.ProducerEpoch = had, 3
			}
			resp := serve[*kmsg.InitProducerIDResponse](t, a, version, req)
			if resp.ErrorCode != 0 || resp.ProducerID != next || resp.ProducerEpoch != 0 {
				t.Errorf("v%d: %+v, want id %d", version, resp, next)
			}
			next++
		}
	}
	meta.noIDs = errors.New("no quorum")
	resp := serve[*kmsg.InitProducerIDResponse](t, a, 5, kmsg.NewPtrInitProducerIDRequest())
	if resp.ErrorCode != 14 || resp.ProducerID != -1 || resp.ProducerEpoch != -1 {
		t.Errorf("no id to be had: %+v, want a code on which clients ask again", resp)
	}
}

func TestInitProducerIDRefusals(t *testing.T) {
	a, _, _ := newAdmin(t)
	tx := func(s string) *string { return &s }
	for _, c := range []struct {
		tx      *string
		timeout int32
		id      int64
		epoch   int16
		code    int16
	}{
		{nil, 1000, 77, -1, 42}, {nil, 1000, -1, 3, 42}, {tx("x"), 1000, 5, -1, 42},
		{tx(""), 1000, -1, -1, 42},
		{tx("x"), 0, -1, -1, 50}, {tx("x"), -1, -1, -1, 50}, {tx("x"), 900001, -1, -1, 50},
		{tx("x"), 900000, -1, -1, 53}, {tx("x"), 1, 5, 5, 53},
	} {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = c.tx, c.timeout, c.id, c.epoch
		resp := serve[*kmsg.InitProducerIDResponse](t, a, 5, req)
		if resp.ErrorCode != c.code || resp.ProducerID != -1 || resp.ProducerEpoch != -1 {
			t.Errorf("%+v: %+v", c, resp)
		}
	}
}
