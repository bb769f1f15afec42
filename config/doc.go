// Package config knows every configuration key: its type, default, range,
// where it may be set and what it is for.
//
// It parses server.properties (ParseProperties), turns it into typed values or
// a refusal (LoadServer), checks what clients want to change (ValidateTopic,
// Layers.ValidateBroker and its siblings), works out what holds (Layers.Topic,
// Layers.Broker) and describes it the way DescribeConfigs does
// (Layers.DescribeTopic and its siblings).
//
// It is not a store: dynamic configurations live in the metadata image, and
// the callers hand them in as plain maps. It imports no other package of ours
// and no component imports it apart from those that answer configuration
// requests; components take their own Config structs, filled in by node.
//
// Owner: none. Everything is immutable once built, and every function may be
// called from any goroutine.
//
// Invariants: the keys, types, defaults and read-only marks of the tables are
// those of Apache Kafka 4.4 (testdata holds what it answered), followed by our
// own keys, which begin with "ringmain."; every key has a documentation string
// and a default that passes its own check.
//
// Start reading at def.go, then table_topic.go, then load.go.
package config
