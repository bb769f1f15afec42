package broker

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
	"ringmain/model"
)

// DeleteTopics, versions 1 to 6.
//
//   - v3 TOPIC_DELETION_DISABLED where delete.topic.enable is false (before:
//     INVALID_REQUEST)
//   - v4 flexible, v5 a message for each error
//   - v6 topics by name or by id (KIP-516)
//
// The answer comes when the topics are out of service here; their files are
// removed in the background. A topic is asked for once: named twice, or by
// name and by id, it stays.
var deleteTopicsAPI = api{key: 20, min: 1, max: 6, serve: deleteTopics}

// doomedTopic is one topic of a DeleteTopics request, by name or by id.
type doomedTopic struct {
	name *string
	id   model.TopicID
	bad  *refusal // what is wrong with the request itself

	// What the metadata says about it.
	topic  *metadata.Topic
	late   *refusal
	merged bool // an earlier item of the request is the same topic and answers for both
}

func deleteTopics(a *admin, ctx context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.DeleteTopicsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	asked := askedTopics(req)
	doomed, open := doomedTopics(asked)
	if why := a.deletionRefusal(req, open); why != nil {
		resp.Topics = make([]kmsg.DeleteTopicsResponseTopic, 0, len(asked))
		for i, ask := range asked {
			out := kmsg.NewDeleteTopicsResponseTopic()
			out.Topic, out.TopicID = ask.Topic, ask.TopicID
			out.ErrorCode, out.ErrorMessage = why.told(i)
			resp.Topics = append(resp.Topics, out)
		}
		return resp
	}
	var whole *refusal
	if len(doomed) > 0 {
		whole = a.deleteTopics(ctx, req.TimeoutMillis, doomed)
	}
	for _, d := range doomed {
		if d.merged {
			continue
		}
		out := kmsg.NewDeleteTopicsResponseTopic()
		out.Topic, out.TopicID = d.name, d.id
		if d.topic != nil {
			out.Topic, out.TopicID = &d.topic.Name, d.topic.ID
		}
		why := d.bad
		if why == nil {
			why = d.late
		}
		if why == nil {
			why = whole
		}
		out.ErrorCode, out.ErrorMessage = why.wire()
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// deletionRefusal says why no topic of a request is even looked for. open tells
// whether the request has entries that are not refused for themselves.
func (a *admin) deletionRefusal(req *kmsg.DeleteTopicsRequest, open bool) *refusal {
	switch {
	case !a.cfg.DeleteTopics && req.Version < 3:
		return refuse(kerr.InvalidRequest, "topics cannot be deleted on this broker: delete.topic.enable is false")
	case !a.cfg.DeleteTopics:
		return refuse(kerr.TopicDeletionDisabled, "topics cannot be deleted on this broker: delete.topic.enable is false")
	case req.TimeoutMillis <= 0 && open:
		return bare(kerr.RequestTimedOut)
	}
	return nil
}

// askedTopics are the entries of a request of any version.
func askedTopics(req *kmsg.DeleteTopicsRequest) []kmsg.DeleteTopicsRequestTopic {
	if req.Version >= 6 {
		return req.Topics
	}
	asked := make([]kmsg.DeleteTopicsRequestTopic, len(req.TopicNames))
	for i := range req.TopicNames {
		asked[i].Topic = &req.TopicNames[i]
	}
	return asked
}

// doomedTopics takes the topics out of the request, each once. open tells whether
// any of them is asked for as it should be.
func doomedTopics(asked []kmsg.DeleteTopicsRequestTopic) (doomed []*doomedTopic, open bool) {
	byName := make(map[string]*doomedTopic, len(asked))
	byID := make(map[model.TopicID]*doomedTopic)
	for i := range asked {
		d := &doomedTopic{name: asked[i].Topic, id: asked[i].TopicID}
		switch {
		case d.name != nil && !d.id.IsZero():
			d.bad = refuse(kerr.InvalidRequest, "topic %q is asked for by name and by id; use one of the two", *d.name)
		case d.name == nil && d.id.IsZero():
			d.bad = refuse(kerr.InvalidRequest, "a topic without name and without id")
		case d.name != nil:
			if first := byName[*d.name]; first != nil {
				first.bad = refuse(kerr.InvalidRequest, "topic %q is named more than once in the request", *d.name)
				continue
			}
			byName[*d.name] = d
		default:
			if first := byID[d.id]; first != nil {
				first.bad = refuse(kerr.InvalidRequest, "topic id %v is in the request more than once", d.id)
				continue
			}
			byID[d.id] = d
		}
		doomed = append(doomed, d)
	}
	return doomed, slices.ContainsFunc(doomed, func(d *doomedTopic) bool { return d.bad == nil })
}

// deleteTopics deletes what can be deleted.
func (a *admin) deleteTopics(ctx context.Context, timeoutMs int32, doomed []*doomedTopic) (whole *refusal) {
	return adminRefusal(a.change(ctx, timeoutMs, func(img *metadata.Image) ([]metadata.Record, error) {
		byID := make(map[model.TopicID]*doomedTopic, len(doomed))
		for _, d := range doomed {
			d.find(img, byID)
		}
		var records []metadata.Record
		for _, d := range doomed {
			if d.bad == nil && d.late == nil && !d.merged {
				records = append(records, metadata.RemoveTopicRecord{ID: d.topic.ID})
			}
		}
		return records, nil
	}))
}

// find looks the topic up. byID collects what was found: a topic that is there
// by name and by id is refused once and deleted neither way.
func (d *doomedTopic) find(img *metadata.Image, byID map[model.TopicID]*doomedTopic) {
	d.topic, d.late, d.merged = nil, nil, false
	switch {
	case d.bad != nil:
		return
	case d.name != nil:
		if d.topic = img.Topic(*d.name); d.topic == nil {
			d.late = refuse(kerr.UnknownTopicOrPartition, "there is no topic %q", *d.name)
		}
	default:
		if d.topic = img.TopicByID(d.id); d.topic == nil {
			d.late = refuse(kerr.UnknownTopicID, "there is no topic with id %v", d.id)
		}
	}
	if d.topic == nil {
		return
	}
	if first := byID[d.topic.ID]; first != nil {
		first.late = refuse(kerr.InvalidRequest, "topic %q is in the request by name and by id", d.topic.Name)
		d.merged = true
		return
	}
	byID[d.topic.ID] = d
}
