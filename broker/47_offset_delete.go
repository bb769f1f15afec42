package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
)

// OffsetDelete, version 0 (KIP-496).
var offsetDeleteAPI = api{key: 47, min: 0, max: 0, group: offsetDelete}

func offsetDelete(_ *groups, c *groupCall, r kmsg.Request) {
	req := r.(*kmsg.OffsetDeleteRequest)
	refuse := func(code int16) *kmsg.OffsetDeleteResponse {
		resp := kmsg.NewPtrOffsetDeleteResponse()
		resp.ErrorCode = code
		return resp
	}
	if req.Group == "" {
		c.answer(refuse(kerr.InvalidGroupID.Code))
		return
	}
	ask(c, req.Group, func(resp *kmsg.OffsetDeleteResponse) { c.answer(resp) }, refuse,
		func(m *group.Machine, s *coordinator.Step, reply func(*kmsg.OffsetDeleteResponse, error)) {
			m.OffsetDelete(s, req, reply)
		})
}
