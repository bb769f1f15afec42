package config

// Group is what holds for one group of the consumer protocol.
type Group struct {
	SessionTimeoutMs     int32 // consumer.session.timeout.ms
	HeartbeatIntervalMs  int32 // consumer.heartbeat.interval.ms
	AssignmentIntervalMs int32 // consumer.assignment.interval.ms
}

// Group works out what holds for a group that sets overrides itself. A stored value
// that does not parse gives way to the broker's, so that a group can always be served.
func (l Layers) Group(overrides map[string]string) Group {
	number := func(name string) int32 {
		d := groupTable.byName[name]
		if text, ok := overrides[name]; ok {
			if v, err := d.validate(text); err == nil {
				n, _ := v.(int64)
				return int32(n)
			}
		}
		return int32(l.number(d.ServerKey))
	}
	return Group{
		SessionTimeoutMs:     number("consumer.session.timeout.ms"),
		HeartbeatIntervalMs:  number("consumer.heartbeat.interval.ms"),
		AssignmentIntervalMs: number("consumer.assignment.interval.ms"),
	}
}
