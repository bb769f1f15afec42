package config

import (
	"fmt"
	"maps"
)

// Listener is one address of the broker.
type Listener struct {
	// Name is the listener's name in upper case.
	Name string
	// Host is empty when all interfaces are meant; an advertised one has a
	// host always.
	Host string
	// Port 0 asks for a free port when listening; advertised, it stands for
	// the port that was bound.
	Port int
	// Protocol is the security protocol, PLAINTEXT so far.
	Protocol string
}

// Durability says what an acknowledgement of acks=all waits for.
type Durability int8

const (
	// Fsync waits until the records are on disk.
	Fsync Durability = iota
	// PageCache waits until the system has the records.
	PageCache
)

func (d Durability) String() string {
	return [...]string{"fsync", "page-cache"}[d]
}

func durability(word string) Durability {
	if word == "page-cache" {
		return PageCache
	}
	return Fsync
}

// Server is a checked server.properties. It does not change once loaded; what
// is changed while the broker runs lies over it in Layers.
type Server struct {
	NodeID int32
	Rack   string // empty when unset

	Listeners          []Listener // the broker's; controller listeners open no port
	Advertised         []Listener
	InterBrokerName    string // listener brokers use among themselves
	ControllerNames    []string
	LogDirs            []string
	MetadataDir        string
	LostLogDirs        []string // ids of directories that are given up
	HTTPListen         string   // host:port; empty for none
	IOEngine           string   // auto, uring, pwritev
	EventLoops         int      // 0: choose
	Appenders          int      // 0: choose
	PoolSize           int      // 0: choose
	OpenFiles          int      // 0: the process's limit
	MetricsMaxSeries   int
	LagCheckMs         int64
	LagAlerts          []LagAlert // by name
	SyncBytes          int64
	JournalBytes       int64
	SyncMs             int64
	ConnInFlightBytes  int64
	TotalInFlightBytes int64
	BulkShare          int // percent
	DecompressedMax    int64
	RequestMaxParts    int32

	RequestMaxBytes        int32
	IdleMs                 int64 // negative: never
	ListenBacklog          int
	SendBufferBytes        int // -1: the system's
	ReceiveBufferBytes     int // -1: the system's
	FetchMaxBytes          int32
	FetchSessionSlots      int
	DescribePartitionLimit int32 // max.request.partition.size.limit

	NumPartitions      int32
	ReplicationFactor  int16
	AutoCreateTopics   bool
	DeleteTopics       bool
	RetentionCheckMs   int64
	RecoveryPointMs    int64 // log.flush.offset.checkpoint.interval.ms
	StartOffsetMs      int64 // log.flush.start.offset.checkpoint.interval.ms
	RecoveryThreads    int
	ControlledShutdown bool
	InitialTaskDelayMs int64
	SnapshotMaxBytes   int64 // metadata.log.max.record.bytes.between.snapshots
	SnapshotIntervalMs int64 // metadata.log.max.snapshot.interval.ms

	values   map[string]string // what was set, in its normal form
	defaults map[string]string // defaults that differ from the tables' on this node
}

// Values returns a copy of what was set explicitly.
func (s *Server) Values() map[string]string { return maps.Clone(s.values) }

// static returns what server.properties says; a nil Server says nothing.
func (s *Server) static(name string) (string, bool) {
	if s == nil {
		return "", false
	}
	v, ok := s.values[name]
	return v, ok
}

// fallback returns the default of a broker's key on this node.
func (s *Server) fallback(name string) (string, bool) {
	if s != nil {
		if v, ok := s.defaults[name]; ok {
			return v, true
		}
	}
	d, ok := brokerTable.byName[name]
	if !ok || !d.HasDefault() {
		return "", false
	}
	return d.Default, true
}

// Get returns the value of a broker's key that holds at start; ok is false
// when it is null.
func (s *Server) Get(name string) (value string, ok bool) {
	if v, ok := s.static(name); ok {
		return v, true
	}
	return s.fallback(name)
}

// value returns the parsed value of a known key. The text was checked before,
// so a failure is a mistake in this package.
func (s *Server) value(name string) any {
	d, known := brokerTable.byName[name]
	if !known {
		panic("config: unknown key " + name)
	}
	text, ok := s.Get(name)
	if !ok {
		return nil
	}
	v, err := d.validate(text)
	if err != nil {
		panic(fmt.Sprintf("config: unchecked value: %v", err))
	}
	return v
}

// Long returns a number of a known key; null gives 0.
func (s *Server) Long(name string) int64 { n, _ := s.value(name).(int64); return n }

// Int returns a number of a known key that fits 32 bits; null gives 0.
func (s *Server) Int(name string) int32 { return int32(s.Long(name)) }

// Bool returns a boolean of a known key.
func (s *Server) Bool(name string) bool { b, _ := s.value(name).(bool); return b }

// Text returns a string of a known key; null gives "".
func (s *Server) Text(name string) string { t, _ := s.value(name).(string); return t }

// List returns the items of a known key; null gives none.
func (s *Server) List(name string) []string { l, _ := s.value(name).([]string); return l }
