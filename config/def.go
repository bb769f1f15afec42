package config

// Type is the kind of value a key takes, with the numbers DescribeConfigs uses
// (KIP-569).
type Type int8

// The types of Kafka's DescribeConfigs; TypeUnknown is what a key nobody knows gets.
const (
	TypeUnknown Type = iota
	Boolean
	String
	Int
	Short
	Long
	Double
	List
	Class
	Password
)

var typeNames = [...]string{"UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}

func (t Type) String() string {
	if t < 0 || int(t) >= len(typeNames) {
		return typeNames[0]
	}
	return typeNames[t]
}

// Update says where a broker's key may be changed while the broker runs (KIP-226).
type Update int8

const (
	// ReadOnly keys change with a restart only.
	ReadOnly Update = iota
	// PerBroker keys may be set for one broker.
	PerBroker
	// ClusterWide keys may be set for one broker or for all of them.
	ClusterWide
)

func (u Update) String() string {
	return [...]string{"read-only", "per-broker", "cluster-wide"}[u]
}

// Importance orders keys for readers of the documentation.
type Importance int8

// Importance levels, as Kafka's documentation has them.
const (
	Medium Importance = iota
	High
	Low
)

// Status says what this broker makes of a key.
type Status int8

const (
	// Accepted keys are checked, stored and shown, and have no effect.
	Accepted Status = iota
	// Honoured keys do what they say.
	Honoured
	// Refused keys protect or place data in a way that is not built in: a
	// value other than the default stops the start.
	Refused
)

func (s Status) String() string {
	return [...]string{"accepted", "honoured", "refused"}[s]
}

// Def describes one key.
type Def struct {
	Name string
	Type Type
	// Default is the default in text form. With Null there is a default, and
	// it is null; with Required there is none, and Kafka insists on a value.
	Default        string
	Null, Required bool
	Check          Check
	Update         Update // of broker keys
	// ServerKey is, for a topic or group key, the broker's key that holds
	// when the topic or group sets none; empty when there is none.
	ServerKey  string
	Importance Importance
	// Internal keys are taken and, but for those that a group or its broker set, never
	// shown, as in Kafka.
	Internal bool
	Status   Status
	// Doc says in one or two sentences what the key is for, with its unit.
	Doc string
}

// HasDefault tells whether there is a default other than null.
func (d *Def) HasDefault() bool { return !d.Null && !d.Required }

// Sensitive values are never shown.
func (d *Def) Sensitive() bool { return d.Type == Password }

// Own tells a key of ours from one of Kafka's.
func (d *Def) Own() bool { return len(d.Name) > len(ownPrefix) && d.Name[:len(ownPrefix)] == ownPrefix }

const ownPrefix = "ringmain."
