package records

import "ringmain/model"

// TopicPartitions are partitions of one topic.
type TopicPartitions struct {
	TopicID    model.TopicID
	Partitions []int32
	// AssignmentEpochs are the member epochs at which the partitions were assigned, in
	// the order of Partitions; nil where they are not recorded. Only current
	// assignments have them.
	AssignmentEpochs []int32
}

func appendTopicPartitions(b []byte, list []TopicPartitions, epochs bool) []byte {
	b = appendLength(b, len(list))
	for i := range list {
		t := &list[i]
		b = append(b, t.TopicID[:]...)
		b = appendInt32s(b, t.Partitions)
		var tag []byte
		if epochs && t.AssignmentEpochs != nil {
			tag = appendInt32s(nil, t.AssignmentEpochs)
		}
		b = appendTag(b, tag)
	}
	return b
}

func (c *cursor) topicPartitions(epochs bool) []TopicPartitions {
	n := c.count(len(model.TopicID{}) + 2)
	if n == 0 {
		return nil
	}
	list := make([]TopicPartitions, n)
	for i := range list {
		t := &list[i]
		t.TopicID = c.topicID()
		t.Partitions = c.int32s()
		c.tags(func(c *cursor) {
			if !epochs || len(c.b) == 1 && c.b[0] == 0 { // null
				c.at = len(c.b)
				return
			}
			t.AssignmentEpochs = append([]int32{}, c.int32s()...)
			if c.err == nil && len(t.AssignmentEpochs) != len(t.Partitions) {
				c.fail("%d partitions have %d assignment epochs", len(t.Partitions), len(t.AssignmentEpochs))
			}
		})
	}
	return list
}
