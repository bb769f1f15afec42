package model

import (
	"strconv"
	"strings"
)

// TopicPartition names one partition of a topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is Kafka's "topic-partition", which is also the directory's name.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// ParseTopicPartition reads what String writes; ok is false for anything else.
func ParseTopicPartition(s string) (tp TopicPartition, ok bool) {
	i := strings.LastIndexByte(s, '-')
	if i <= 0 {
		return tp, false
	}
	n, err := strconv.ParseInt(s[i+1:], 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s[i+1:] {
		return tp, false
	}
	return TopicPartition{Topic: s[:i], Partition: int32(n)}, true
}
