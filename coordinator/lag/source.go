package lag

import "context"

// Commit is one committed offset of a group.
type Commit struct {
	Group     string
	Type      string // classic, consumer
	State     string // of the group, in Kafka's words
	Topic     string
	Partition int32
	Offset    int64 // of the next record to read
	TimeMs    int64 // when it was committed, in milliseconds since 1970
}

// Group is a group as ListGroups names it.
type Group struct {
	ID           string
	Type         string // classic, consumer
	ProtocolType string // consumer, connect, ...; empty where nobody ever joined
	State        string
}

// Commits has the committed offsets of all groups that this broker coordinates.
type Commits interface {
	// Committed calls visit for every one, in any order, from one goroutine at a time,
	// and returns when that is done. What could not be asked is in the error; the
	// others were visited all the same.
	Committed(ctx context.Context, visit func(Commit)) error
}

// Logs are the partitions that this broker leads.
type Logs interface {
	// Bounds says what a partition holds; ok is false for one that this broker does
	// not lead. It does not wait.
	Bounds(topic string, partition int32) (b Bounds, ok bool)
	// Time gives the timestamp of the first batch that holds offset or lies behind it,
	// in milliseconds since 1970. appended says that the broker set it. ok is false
	// where there is no such batch or it cannot be read. It may wait for the disk.
	Time(topic string, partition int32, offset int64) (ms int64, appended, ok bool)
}

// Bounds are those of one log.
type Bounds struct {
	Start, End int64 // of the first record; high watermark
	AppendTime bool  // the topic's timestamps are the broker's (message.timestamp.type)
}
