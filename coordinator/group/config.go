package group

import "ringmain/metadata"

// Config is what the broker's configuration says of groups.
type Config struct {
	MaxMetadataBytes int32 // offset.metadata.max.bytes, of one committed offset
	RetentionMs      int64 // offsets.retention.minutes
	RetentionCheckMs int64 // offsets.retention.check.interval.ms

	MinSessionTimeoutMs     int32 // group.min.session.timeout.ms, of classic groups
	MaxSessionTimeoutMs     int32 // group.max.session.timeout.ms
	InitialRebalanceDelayMs int32 // group.initial.rebalance.delay.ms
	MaxSize                 int32 // group.max.size: members of a classic group

	ConsumerMaxSize  int32           // group.consumer.max.size
	Assignors        []string        // group.consumer.assignors, the default first
	Migration        MigrationPolicy // group.consumer.migration.policy
	RegexRefreshMs   int64           // group.consumer.regex.refresh.interval.ms
	ClassicProtocol  bool            // group.coordinator.rebalance.protocols has classic
	ConsumerProtocol bool            // ... and consumer
	ConsumerSettings func(img *metadata.Image, group string) ConsumerSettings
	// NewID makes what is unique for ever: member ids, or the end of them.
	NewID func() string
}

// ConsumerSettings are those of one group of the consumer protocol: its own where it
// has them (resource GROUP), else the broker's.
type ConsumerSettings struct {
	SessionTimeoutMs     int32 // consumer.session.timeout.ms
	HeartbeatIntervalMs  int32 // consumer.heartbeat.interval.ms
	AssignmentIntervalMs int32 // consumer.assignment.interval.ms
}

// MigrationPolicy says which way a group may change its protocol while it has members.
type MigrationPolicy struct{ Upgrade, Downgrade bool }

// Client is who sent a request.
type Client struct {
	ID   string // of the request's header
	Host string // as Kafka writes it: "/127.0.0.1"
}
