package metadata

import "strconv"

// ResourceKind says what a dynamic configuration belongs to, with the numbers
// of Kafka's ConfigResource.
type ResourceKind int8

const (
	TopicResource         ResourceKind = 2
	BrokerResource        ResourceKind = 4 // name "" is the default of the cluster
	ClientMetricsResource ResourceKind = 16
	GroupResource         ResourceKind = 32
)

func (k ResourceKind) String() string {
	switch k {
	case TopicResource:
		return "topic"
	case BrokerResource:
		return "broker"
	case ClientMetricsResource:
		return "client-metrics"
	case GroupResource:
		return "group"
	}
	return "resource " + strconv.Itoa(int(k))
}

// ResourceRef names a resource that has dynamic configuration.
type ResourceRef struct {
	Kind ResourceKind
	Name string
}
