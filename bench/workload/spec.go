package workload

import "time"

// Kind is what a load does.
type Kind string

// The kinds of loads. Many partitions are a Produce with many partitions.
const (
	Produce  Kind = "produce"
	Fetch    Kind = "fetch"
	EndToEnd Kind = "e2e"   // produce, and fetch the same records as they come
	Mixed    Kind = "mixed" // produce, and fetch beside it
	Storm    Kind = "storm" // connect, say hello, ask for metadata, close
	Idle     Kind = "idle"  // connect, and do nothing
)

// Kinds are all kinds, in the order in which people read about them.
func Kinds() []Kind { return []Kind{Produce, Fetch, EndToEnd, Mixed, Storm, Idle} }

// Produces reports whether loads of this kind write records while they are
// measured.
func (k Kind) Produces() bool { return k == Produce || k == EndToEnd || k == Mixed }

// Fetches reports whether loads of this kind read records while they are
// measured.
func (k Kind) Fetches() bool { return k == Fetch || k == EndToEnd || k == Mixed }

// Fills reports whether records must be there before loads of this kind begin.
func (s Spec) Fills() bool {
	return s.Kind == Fetch && s.FetchMode != Tail || s.Kind == Mixed && s.FetchMode != Tail
}

// The engines, which carry a load out.
const (
	Replay = "replay" // requests encoded once: the client costs next to nothing
	Franz  = "franz"  // franz-go, as applications use it
)

// Where fetches read.
const (
	Tail    = "tail"     // records as they are written
	CatchUp = "catch-up" // from the beginning to the end, then again
	Random  = "random"   // from offsets anywhere in the log
)

// Spec is one load. Sizes are bytes.
type Spec struct {
	Name        string
	Description string
	Kind        Kind
	Engine      string

	// Topic is a topic that exists; "" is one of the load's own, made before
	// and removed after it. With more than one topic, Topic must be "".
	Topic             string
	Topics            int
	Partitions        int // of each topic
	ReplicationFactor int
	TopicConfig       map[string]string

	Record SizeDist // of a record's value
	Key    KeyDist
	// BatchBytes closes a batch: a record that would make it longer begins the
	// next one. A batch holds at least one record, so 1 is one record a batch.
	BatchBytes      int
	Linger          time.Duration // franz: how long a batch waits for more records
	Codec           string
	Level           int     // of compression; 0: the codec's default
	Compressibility float64 // 0: random bytes; 1: all bytes the same

	Connections int // that produce, storm or idle
	InFlight    int // requests unanswered on each connection
	Acks        int // -1: all in-sync replicas, 1: the leader, 0: no answer
	Idempotent  bool

	Consumers     int // connections that fetch
	FetchMode     string
	FetchMaxBytes int // of a partition, and of the whole answer if one partition has it
	FetchMinBytes int
	FetchMaxWait  time.Duration
	FillBytes     int64 // what is written first, for fetches of what is there

	Rate     Rate
	Duration time.Duration // measured
	WarmUp   time.Duration // before it, same load
	Seed     int64
}

// Defaults is a load of the given kind as it is when nothing else is said.
func Defaults(k Kind) Spec {
	s := Spec{
		Kind:              k,
		Engine:            Replay,
		Topics:            1,
		Partitions:        8,
		ReplicationFactor: 1,
		Record:            Fixed(1024),
		Key:               KeyDist{Form: NoKeys, Bytes: 16},
		BatchBytes:        64 << 10,
		Linger:            5 * time.Millisecond,
		Codec:             "none",
		Connections:       8,
		InFlight:          5,
		Acks:              -1,
		Consumers:         4,
		FetchMode:         Tail,
		FetchMaxBytes:     1 << 20,
		FetchMinBytes:     1,
		FetchMaxWait:      500 * time.Millisecond,
		FillBytes:         1 << 30,
		Duration:          20 * time.Second,
		WarmUp:            5 * time.Second,
		Seed:              1,
	}
	switch k {
	case Fetch:
		s.FetchMode = CatchUp
		s.InFlight = 1
	case EndToEnd:
		// A batch that waits for company would be the latency.
		s.BatchBytes, s.Linger = 1, 0
		s.Rate = Rate{Records: 1000}
	case Storm:
		s.Connections, s.Partitions, s.InFlight = 16, 1, 1
	case Idle:
		s.Connections, s.Partitions, s.InFlight = 1000, 1, 1
	}
	return s
}
