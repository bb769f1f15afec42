package assignor

import "ringmain/model"

// Range gives every subscriber of a topic a run of neighbouring partitions, and the
// first ones, in the order of instance ids and member ids, one partition more where
// it does not come out even. Topics with equally many partitions and the same
// subscribers are so shared out alike, which is what joins between them need. What a
// member held plays no part: only the order keeps shares where they are.
func Range(members []Member, topics map[model.TopicID]int32) []Assignment {
	return inOrder(members, func(members []Member) []Assignment {
		t := newTable(members, topics)
		for i := range t.topics {
			t.topics[i].cut()
		}
		return t.shares(len(members))
	})
}

func (t *topic) cut() {
	each, more := len(t.owners)/len(t.subscribers), len(t.owners)%len(t.subscribers)
	next := 0
	for at, m := range t.subscribers {
		end := next + each
		if at < more {
			end++
		}
		for ; next < end; next++ {
			t.owners[next] = m
		}
	}
}
