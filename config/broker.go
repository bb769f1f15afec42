package config

// Broker is what holds for a broker and may change while it runs.
type Broker struct {
	MaxConnections            int
	MaxConnectionsPerIP       int
	PerIPOverrides            map[string]int // by address or host name
	MaxConnectionCreationRate int            // a second
	ProducerExpirationMs      int64
	VerifyTransactions        bool
	MinInSyncReplicas         int32
	Cleaner                   Cleaner
}

// Cleaner is what holds for compaction (log.cleaner.*).
type Cleaner struct {
	Threads        int32
	DedupeBytes    int64   // memory for the keys, of all threads
	DedupeLoad     float64 // how full it may get
	BufferBytes    int32   // memory to read and write with, of all threads
	BytesPerSecond float64 // read and written, by all threads
	BackoffMs      int64
}

// Resolve works out what holds for the broker.
func (l Layers) Resolve() Broker {
	overrides, _ := l.value("max.connections.per.ip.overrides").(string)
	perIP, err := parseOverrides(overrides)
	if err != nil {
		perIP = map[string]int{}
	}
	verify, _ := l.value("transaction.partition.verification.enable").(bool)
	return Broker{
		MaxConnections:            int(l.number("max.connections")),
		MaxConnectionsPerIP:       int(l.number("max.connections.per.ip")),
		PerIPOverrides:            perIP,
		MaxConnectionCreationRate: int(l.number("max.connection.creation.rate")),
		ProducerExpirationMs:      l.number("producer.id.expiration.ms"),
		VerifyTransactions:        verify,
		MinInSyncReplicas:         int32(l.number("min.insync.replicas")),
		Cleaner: Cleaner{
			Threads:        max(int32(l.number("log.cleaner.threads")), 1),
			DedupeBytes:    l.number("log.cleaner.dedupe.buffer.size"),
			DedupeLoad:     l.float("log.cleaner.io.buffer.load.factor"),
			BufferBytes:    int32(l.number("log.cleaner.io.buffer.size")),
			BytesPerSecond: l.float("log.cleaner.io.max.bytes.per.second"),
			BackoffMs:      l.number("log.cleaner.backoff.ms"),
		},
	}
}
