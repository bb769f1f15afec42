package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
)

// maxTopicName leaves room for the partition number in a directory's name.
const maxTopicName = 249

// clusterMetadataTopic is the name under which tools ask for the metadata
// quorum. It is no topic that anybody can create or read.
const clusterMetadataTopic = "__cluster_metadata"

// checkTopicName says what is wrong with a topic's name, nil if nothing is.
func checkTopicName(name string) *refusal {
	switch {
	case name == "":
		return refuse(kerr.InvalidTopicException, "a topic's name must not be empty")
	case name == "." || name == "..":
		return refuse(kerr.InvalidTopicException, "a topic cannot be called %q", name)
	case len(name) > maxTopicName:
		return refuse(kerr.InvalidTopicException, "the topic's name is %d bytes long; at most %d are allowed", len(name), maxTopicName)
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '.' && c != '_' && c != '-' {
			return refuse(kerr.InvalidTopicException, "the topic's name %q has characters other than ASCII letters, digits, '.', '_' and '-'", name)
		}
	}
	return nil
}

// isInternalTopic says whether Kafka's clients are told that a topic is
// internal. Such a topic belongs to its coordinator, which creates it, and clients may
// not write to it.
func isInternalTopic(name string) bool {
	switch name {
	case "__consumer_offsets", "__transaction_state", "__share_group_state":
		return true
	}
	return false
}
