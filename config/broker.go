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
	}
}
