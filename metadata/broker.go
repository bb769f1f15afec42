package metadata

// Broker is a registered broker. Do not modify it once it is in a record or an
// image.
type Broker struct {
	ID          int32
	Rack        string   // "" when the broker has none
	Incarnation [16]byte // new with every start of the broker process
	Endpoints   []Endpoint
	Fenced      bool // registered, but not to be given to clients
}

// Endpoint is where clients reach a broker on one listener: the advertised
// address, not the one it binds.
type Endpoint struct {
	Listener string // "PLAINTEXT"
	Host     string
	Port     int32
	Protocol string // Kafka's security protocol name
}

// Endpoint returns the broker's endpoint on a listener, or nil.
func (b *Broker) Endpoint(listener string) *Endpoint {
	for i := range b.Endpoints {
		if b.Endpoints[i].Listener == listener {
			return &b.Endpoints[i]
		}
	}
	return nil
}
