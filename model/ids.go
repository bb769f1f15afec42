package model

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
)

// TopicID is Kafka's 128-bit topic id (KIP-516). The zero value means "none".
type TopicID [16]byte

// NoBroker stands for "no leader" or "any broker" wherever Kafka sends -1.
const NoBroker int32 = -1

// NoEpoch stands for "unknown epoch" wherever Kafka sends -1.
const NoEpoch int32 = -1

// NewTopicID returns a random version 4 UUID whose text does not begin with a
// dash, so that it can be given to a command-line tool (as Kafka's do).
func NewTopicID() TopicID { return TopicID(newUUID()) }

// String gives Kafka's text form: 22 characters of URL-safe base64.
func (t TopicID) String() string { return base64.RawURLEncoding.EncodeToString(t[:]) }

// IsZero reports whether t is the "no id" value.
func (t TopicID) IsZero() bool { return t == TopicID{} }

// ParseTopicID reads the form that String writes.
func ParseTopicID(s string) (TopicID, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != 16 {
		return TopicID{}, fmt.Errorf("topic id %q is not 22 characters of URL-safe base64", s)
	}
	return TopicID(b), nil
}

// NewClusterID returns a random cluster id in Kafka's customary form: the
// 22 characters of a base64 UUID.
func NewClusterID() string { return TopicID(newUUID()).String() }

func newUUID() [16]byte {
	for {
		var u [16]byte
		rand.Read(u[:]) // never fails (crypto/rand)
		u[6] = u[6]&0x0f | 0x40
		u[8] = u[8]&0x3f | 0x80
		if TopicID(u).String()[0] != '-' {
			return u
		}
	}
}
