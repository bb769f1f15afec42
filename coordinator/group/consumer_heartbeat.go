package group

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
	"ringmain/model"
)

// refusal is why a request is not served.
type refusal struct {
	code int16
	text string
}

func refuse(why *kerr.Error, format string, args ...any) *refusal {
	return &refusal{why.Code, fmt.Sprintf(format, args...)}
}

// memberMaxBytes bounds what a member may say of itself: names of topics, or the
// protocols of a classic member. It is written whenever it changes, and kept for as
// long as the member is there.
const memberMaxBytes = 512 << 10

// longerThan reports whether one of these is.
func longerThan(limit int, texts ...*string) bool {
	return slices.ContainsFunc(texts, func(t *string) bool { return t != nil && len(*t) > limit })
}

func size(names []string) (bytes int) {
	for _, name := range names {
		bytes += len(name)
	}
	return bytes
}

// ConsumerGroupHeartbeat (68, KIP-848) lets a member join, live, leave, and confirm
// what it owns; the answer has its epoch, and its assignment where that is news.
func (m *Machine) ConsumerGroupHeartbeat(s *coordinator.Step, req *kmsg.ConsumerGroupHeartbeatRequest, client Client,
	reply func(*kmsg.ConsumerGroupHeartbeatResponse, error)) {
	response := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	if r := m.consumerGroupHeartbeat(s, req, client, response); r != nil {
		response.ErrorCode, response.ErrorMessage = r.code, &r.text
	}
	coordinator.Answer(s, reply, response)
}

// Everything is checked before the first record is written.
func (m *Machine) consumerGroupHeartbeat(s *coordinator.Step, req *kmsg.ConsumerGroupHeartbeatRequest, client Client,
	response *kmsg.ConsumerGroupHeartbeatResponse) *refusal {
	if r := m.checkHeartbeat(req); r != nil {
		return r
	}
	if req.MemberEpoch == 0 {
		return m.join(s, req, client, response)
	}
	c, r := m.findConsumerGroup(req.Group)
	if r != nil {
		return r
	}
	if req.MemberEpoch < 0 {
		return c.leave(s, req, response)
	}
	// Who is not in a full group is told that first: to join again would be in vain.
	if r = c.full(req.MemberID, req.InstanceID); r != nil {
		return r
	}
	cm, r := c.known(req.MemberID, req.InstanceID)
	if r == nil {
		r = cm.checkEpoch(req)
	}
	if r == nil {
		r = c.checkRegex(req.SubscribedTopicRegex)
	}
	if r == nil {
		r = cm.checkState(req)
	}
	if r != nil {
		return r
	}
	c.hear(s, cm.id, req, client, response)
	return nil
}

func (m *Machine) findConsumerGroup(id string) (*consumer, *refusal) {
	g := m.groups[id]
	if g == nil {
		return nil, refuse(kerr.GroupIDNotFound, "Group %s not found.", id)
	}
	c, ok := g.members.(*consumer)
	if !ok {
		return nil, refuse(kerr.GroupIDNotFound, "Group %s is not a consumer group.", id)
	}
	return c, nil
}

func (m *Machine) checkHeartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	invalid := func(text string) *refusal { return &refusal{kerr.InvalidRequest.Code, text} }
	blank := func(v *string) bool { return v != nil && strings.TrimSpace(*v) == "" }
	switch {
	case !m.cfg.ConsumerProtocol:
		return refuse(kerr.UnsupportedVersion, "The consumer group protocol is not enabled.")
	case (req.Version >= 1 || req.MemberEpoch > 0 || req.MemberEpoch == left) && blank(&req.MemberID):
		return invalid("MemberId can't be empty.")
	case blank(&req.Group):
		return invalid("GroupId can't be empty.")
	case blank(req.InstanceID):
		return invalid("InstanceId can't be empty.")
	case blank(req.RackID):
		return invalid("RackId can't be empty.")
	case longerThan(records.MaxString, &req.Group, &req.MemberID, req.InstanceID, req.RackID):
		return invalid(fmt.Sprintf("GroupId, MemberId, InstanceId or RackId is longer than %d bytes.", records.MaxString))
	case size(req.SubscribedTopicNames) > memberMaxBytes:
		return invalid(fmt.Sprintf("SubscribedTopicNames have %d bytes, more than %d. Subscribe with fewer names, or with a regular expression.",
			size(req.SubscribedTopicNames), memberMaxBytes))
	case req.MemberEpoch < leftForAWhile:
		return invalid("MemberEpoch is invalid.")
	case req.MemberEpoch == leftForAWhile && req.InstanceID == nil:
		return invalid("InstanceId can't be null.")
	}
	if req.MemberEpoch == 0 {
		switch {
		case req.RebalanceTimeoutMillis == -1:
			return invalid("RebalanceTimeoutMs must be provided in first request.")
		case req.Topics == nil || len(req.Topics) > 0:
			return invalid("TopicPartitions must be empty when (re-)joining.")
		case req.SubscribedTopicNames == nil && req.SubscribedTopicRegex == nil:
			return invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
		}
	}
	if a := req.ServerAssignor; a != nil && !slices.Contains(m.cfg.Assignors, *a) {
		return refuse(kerr.UnsupportedAssignor, "ServerAssignor %s is not supported. Supported assignors: %s.",
			*a, strings.Join(m.cfg.Assignors, ", "))
	}
	return nil
}

// join serves a member that begins, or begins again. It makes the group if it is not
// there, and makes it one of the consumer protocol if it is a classic one.
func (m *Machine) join(s *coordinator.Step, req *kmsg.ConsumerGroupHeartbeatRequest, client Client,
	response *kmsg.ConsumerGroupHeartbeatResponse) *refusal {
	var c *consumer      // nil: not of the consumer protocol, or not there
	var before *classic  // nil: not a classic group, or not there
	var upgrade *upgrade // nil: nobody is to be upgraded
	var r *refusal
	if g := m.groups[req.Group]; g != nil {
		c, _ = g.members.(*consumer)
		before, _ = g.members.(*classic)
	}
	switch {
	case c != nil:
		r = c.checkRoom(req)
	case before != nil && before.size() > 0:
		if upgrade, r = m.planUpgrade(s, before); r == nil {
			r = upgrade.checkRoom(req)
		}
	}
	if r == nil {
		r = c.checkRegex(req.SubscribedTopicRegex)
	}
	if r != nil {
		return r
	}
	switch {
	case upgrade != nil:
		c = upgrade.run(s)
	case c == nil:
		if before != nil {
			before.forget(s)
		}
		c = m.consumerGroup(req.Group) // of which the member's record is going to tell
	}
	id := req.MemberID
	if id == "" {
		id = m.cfg.NewID()
	}
	if req.InstanceID != nil && c.static[*req.InstanceID] != nil {
		c.replace(s, c.static[*req.InstanceID], id)
	}
	c.hear(s, id, req, client, response)
	return nil
}

// checkRoom refuses a member that joins where there is no room, and one with the
// instance id of another member that lives: unlike in the classic protocol it is the
// new one that has to go, or two that are configured alike would fence each other
// for ever.
func (c *consumer) checkRoom(req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	if r := c.full(req.MemberID, req.InstanceID); r != nil {
		return r
	}
	if req.InstanceID == nil {
		return nil
	}
	if holder := c.static[*req.InstanceID]; holder != nil && holder.said.ClassicMemberMetadata == nil && holder.epoch != leftForAWhile {
		return refuse(kerr.UnreleasedInstanceID,
			"Static member %s with instance id %s cannot join the group because the instance id is owned by %s member.",
			req.MemberID, *req.InstanceID, holder.id)
	}
	return nil
}

func (c *consumer) full(memberID string, instance *string) *refusal {
	if instance != nil && c.static[*instance] != nil || c.members[memberID] != nil {
		return nil
	}
	return c.m.room(len(c.members))
}

// room refuses one member more.
func (m *Machine) room(members int) *refusal {
	if members < int(m.cfg.ConsumerMaxSize) {
		return nil
	}
	return refuse(kerr.GroupMaxSizeReached, "The consumer group has reached its maximum capacity of %d members.", m.cfg.ConsumerMaxSize)
}

// known gives the member of these credentials.
func (c *consumer) known(memberID string, instance *string) (*consumerMember, *refusal) {
	if instance == nil {
		if m := c.members[memberID]; m != nil {
			return m, nil
		}
		return nil, refuse(kerr.UnknownMemberID, "Member %s is not a member of group %s.", memberID, c.g.id)
	}
	m := c.static[*instance]
	switch {
	case m == nil:
		return nil, refuse(kerr.UnknownMemberID, "Instance id %s is unknown.", *instance)
	case m.id != memberID:
		return nil, refuse(kerr.FencedInstanceID, "Static member %s with instance id %s was fenced by member %s.", memberID, *instance, m.id)
	}
	return m, nil
}

// checkEpoch refuses a member that is not where the group has it. One that comes
// with the epoch before, and owns nothing that it was not given, did not get the
// answer that moved it on.
func (m *consumerMember) checkEpoch(req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	epoch := req.MemberEpoch
	switch {
	case epoch > m.epoch:
		return refuse(kerr.FencedMemberEpoch, "The consumer group member has a greater member epoch (%d) than the one known by the group coordinator (%d). The member must abandon all its partitions and rejoin.", epoch, m.epoch)
	case epoch < m.epoch && (epoch != m.previous || !m.ownsAtMost(req.Topics)):
		return refuse(kerr.FencedMemberEpoch, "The consumer group member has a smaller member epoch (%d) than the one known by the group coordinator (%d). The member must abandon all its partitions and rejoin.", epoch, m.epoch)
	}
	return nil
}

// ownsAtMost reports whether the member said what it owns, and was assigned all of it.
func (m *consumerMember) ownsAtMost(owned []kmsg.ConsumerGroupHeartbeatRequestTopic) bool {
	if owned == nil {
		return false
	}
	for i := range owned {
		for _, p := range owned[i].Partitions {
			if _, ok := m.assigned[topicPartition{owned[i].TopicID, p}]; !ok {
				return false
			}
		}
	}
	return true
}

// checkState lets a member whose state a newer broker recorded begin again.
func (m *consumerMember) checkState(req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	if m.state <= unreleased || req.Topics != nil && len(req.Topics) == 0 {
		return nil
	}
	return refuse(kerr.FencedMemberEpoch, "The consumer group member is in an unknown state. The member must abandon all its partitions and rejoin.")
}

// hear takes in what a member says, does for the group what follows from it, and
// tells the member where it is.
func (c *consumer) hear(s *coordinator.Step, id string, req *kmsg.ConsumerGroupHeartbeatRequest, client Client,
	response *kmsg.ConsumerGroupHeartbeatResponse) {
	var before partitions
	said := records.ConsumerGroupMemberMetadataValue{SubscribedTopicRegex: new(string), RebalanceTimeoutMs: -1}
	if m := c.members[id]; m != nil {
		said, before = m.said, m.assigned
	}
	update(&said, req, client)
	changed := c.note(s, id, said)
	c.assign(s)
	m := c.members[id]
	c.reconcile(s, m, req.Topics, changed)
	c.renew(s, m)

	response.MemberID, response.MemberEpoch = &m.id, m.epoch
	response.HeartbeatIntervalMillis = c.heartbeatIntervalMs(s, m)
	// A request in which everything is said comes from a member that does not know
	// what it was told last.
	whole := req.RebalanceTimeoutMillis != -1 && (req.SubscribedTopicNames != nil || req.SubscribedTopicRegex != nil) && req.Topics != nil
	if req.MemberEpoch == 0 || whole || !maps.Equal(before, m.assigned) {
		response.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{}
		m.assigned.byTopic(func(topic model.TopicID, partitions []int32) {
			response.Assignment.Topics = append(response.Assignment.Topics,
				kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{TopicID: topic, Partitions: partitions})
		})
	}
}

// waitingHeartbeatMs is the longest heartbeat interval of a member that waits for
// something. Not less: librdkafka gives up a heartbeat that is not answered within its
// interval.
const waitingHeartbeatMs = 2000

// heartbeatIntervalMs is when the member is to come again. Only the answer to a
// heartbeat brings news, so who waits for a target to be computed, or for partitions
// that others have, comes sooner (docs/decisions/0041).
func (c *consumer) heartbeatIntervalMs(s *coordinator.Step, m *consumerMember) int32 {
	intervalMs := c.settings(s).HeartbeatIntervalMs
	if c.assignmentEpoch < c.epoch || c.resolution != nil || m.state == unreleased {
		return min(intervalMs, waitingHeartbeatMs)
	}
	return intervalMs
}

// update changes what a member said of itself: what is null stays as it is.
func update(said *records.ConsumerGroupMemberMetadataValue, req *kmsg.ConsumerGroupHeartbeatRequest, client Client) {
	said.ClientID, said.ClientHost = client.ID, client.Host
	said.ClassicMemberMetadata = nil
	if req.InstanceID != nil {
		said.InstanceID = req.InstanceID
	}
	if req.RackID != nil {
		said.RackID = req.RackID
	}
	if req.RebalanceTimeoutMillis != -1 {
		said.RebalanceTimeoutMs = req.RebalanceTimeoutMillis
	}
	if req.SubscribedTopicNames != nil {
		said.SubscribedTopicNames = distinctNames(req.SubscribedTopicNames)
	}
	if req.SubscribedTopicRegex != nil {
		said.SubscribedTopicRegex = req.SubscribedTopicRegex
	}
	if req.ServerAssignor != nil {
		said.ServerAssignor = req.ServerAssignor
	}
}

// distinctNames are in order and without repetition; nil where there are none.
func distinctNames(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// note records what a member said, and raises the group epoch where that, or the
// metadata, asks for a new assignment. changed says that the member's subscription
// is another one.
func (c *consumer) note(s *coordinator.Step, id string, said records.ConsumerGroupMemberMetadataValue) (changed bool) {
	var names []string
	var regex string
	m, assignor := c.members[id], c.assignorName()
	if m != nil {
		names, regex = m.said.SubscribedTopicNames, m.regex()
	}
	stood := c.regexes[regex] != nil && len(c.regexes[regex].topics) > 0
	if m == nil || !reflect.DeepEqual(m.said, said) {
		c.m.write(s, records.ConsumerGroupMemberMetadata(c.g.id, id, &said))
		m = c.members[id]
	}
	named := !slices.Equal(names, m.said.SubscribedTopicNames)
	matched := regex != m.regex()
	// An expression that is not resolved yet gives no reason to assign: its
	// resolution will, if it stands for topics. Where the one before stood for some,
	// others may get what the member gives up.
	bump := named || matched && (stood || c.isResolved(m.regex())) || assignor != c.assignorName()
	if matched {
		c.dropRegexes(s)
	}
	bump = c.refreshRegexes(s, m) || bump
	c.follow(s, bump)
	return named || matched
}

// follow raises the group epoch if bump asks for it or if the topics are not what
// they were.
func (c *consumer) follow(s *coordinator.Step, bump bool) {
	if !bump && !c.stale {
		return
	}
	hash := c.hash(s.Image)
	c.stale = false
	if bump || hash != c.metadataHash {
		c.bump(s, hash)
	}
}

func (c *consumer) bump(s *coordinator.Step, hash int64) {
	c.m.write(s, records.ConsumerGroupMetadata(c.g.id, &records.ConsumerGroupMetadataValue{Epoch: c.epoch + 1, MetadataHash: hash}))
}
