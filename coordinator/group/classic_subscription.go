package group

import "encoding/binary"

// consumerProtocolType is the protocol type of consumers. What their members say is
// known: the topics that they read.
const consumerProtocolType = "consumer"

// subscriptions are the topics that a group's members read. The zero value is that of a
// group without a generation: nothing is known.
type subscriptions struct {
	topics map[string]bool
	known  bool // all members could be understood
}

// subscribed goes by what the members said when their generation began: a topic that one
// of them is about to give up is still read by it, and what a newcomer will read nobody
// reads yet.
func (c *classic) subscribed(topic string) (yes, known bool) {
	return c.topics.topics[topic], c.topics.known
}

// subscriptions finds out what the members read.
func (c *classic) subscriptions() subscriptions {
	if c.typ != consumerProtocolType {
		return subscriptions{}
	}
	all := map[string]bool{}
	for _, m := range c.members {
		metadata, ok := m.metadata(*c.protocol)
		if !ok || !addSubscription(all, metadata) {
			return subscriptions{}
		}
	}
	return subscriptions{topics: all, known: true}
}

// addSubscription adds the topics of a consumer's metadata, which in every version
// begins with the version and the topics. ok is false if that is not what it is:
// the bytes are the client's, and brokers do not check them.
func addSubscription(to map[string]bool, metadata []byte) (ok bool) {
	if len(metadata) < 6 || int16(binary.BigEndian.Uint16(metadata)) < 0 {
		return false
	}
	n := int32(binary.BigEndian.Uint32(metadata[2:]))
	rest := metadata[6:]
	for ; n > 0; n-- {
		if len(rest) < 2 {
			return false
		}
		size := int(int16(binary.BigEndian.Uint16(rest)))
		if size < 0 || len(rest) < 2+size {
			return false
		}
		to[string(rest[2:2+size])] = true
		rest = rest[2+size:]
	}
	return n == 0
}
