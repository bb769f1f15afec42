package workload

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// form is a Spec as it stands in a file and in a result. All its fields are
// there in a result; a file has those that differ from the defaults of its kind.
type form struct {
	Name              string            `yaml:"name" json:"name"`
	Description       string            `yaml:"description" json:"description"`
	Kind              Kind              `yaml:"kind" json:"kind"`
	Engine            string            `yaml:"engine" json:"engine"`
	Topic             string            `yaml:"topic,omitempty" json:"topic,omitempty"`
	Topics            whole             `yaml:"topics" json:"topics"`
	Partitions        whole             `yaml:"partitions" json:"partitions"`
	ReplicationFactor whole             `yaml:"replication_factor" json:"replication_factor"`
	TopicConfig       map[string]string `yaml:"topic_config,omitempty" json:"topic_config,omitempty"`
	RecordSize        SizeDist          `yaml:"record_size" json:"record_size"`
	Keys              keys              `yaml:"keys" json:"keys"`
	KeySize           size              `yaml:"key_size" json:"key_size"`
	BatchBytes        size              `yaml:"batch_bytes" json:"batch_bytes"`
	Linger            span              `yaml:"linger" json:"linger"`
	Codec             string            `yaml:"codec" json:"codec"`
	Level             whole             `yaml:"level" json:"level"`
	Compressibility   float64           `yaml:"compressibility" json:"compressibility"`
	Connections       whole             `yaml:"connections" json:"connections"`
	InFlight          whole             `yaml:"in_flight" json:"in_flight"`
	Acks              acks              `yaml:"acks" json:"acks"`
	Idempotent        bool              `yaml:"idempotent" json:"idempotent"`
	Consumers         whole             `yaml:"consumers" json:"consumers"`
	FetchMode         string            `yaml:"fetch_mode" json:"fetch_mode"`
	FetchMaxBytes     size              `yaml:"fetch_max_bytes" json:"fetch_max_bytes"`
	FetchMinBytes     size              `yaml:"fetch_min_bytes" json:"fetch_min_bytes"`
	FetchMaxWait      span              `yaml:"fetch_max_wait" json:"fetch_max_wait"`
	Fill              size              `yaml:"fill" json:"fill"`
	Rate              Rate              `yaml:"rate" json:"rate"`
	Duration          span              `yaml:"duration" json:"duration"`
	WarmUp            span              `yaml:"warm_up" json:"warm_up"`
	Seed              whole             `yaml:"seed" json:"seed"`
}

func formOf(s Spec) form {
	return form{
		Name: s.Name, Description: s.Description, Kind: s.Kind, Engine: s.Engine,
		Topic: s.Topic, Topics: whole(s.Topics), Partitions: whole(s.Partitions), ReplicationFactor: whole(s.ReplicationFactor), TopicConfig: s.TopicConfig,
		RecordSize: s.Record, Keys: keys(s.Key), KeySize: size(s.Key.Bytes),
		BatchBytes: size(s.BatchBytes), Linger: span(s.Linger), Codec: s.Codec, Level: whole(s.Level), Compressibility: s.Compressibility,
		Connections: whole(s.Connections), InFlight: whole(s.InFlight), Acks: acks(s.Acks), Idempotent: s.Idempotent,
		Consumers: whole(s.Consumers), FetchMode: s.FetchMode, FetchMaxBytes: size(s.FetchMaxBytes), FetchMinBytes: size(s.FetchMinBytes),
		FetchMaxWait: span(s.FetchMaxWait), Fill: size(s.FillBytes),
		Rate: s.Rate, Duration: span(s.Duration), WarmUp: span(s.WarmUp), Seed: whole(s.Seed),
	}
}

func (f form) spec() Spec {
	key := KeyDist(f.Keys)
	key.Bytes = int(f.KeySize)
	return Spec{
		Name: f.Name, Description: f.Description, Kind: f.Kind, Engine: f.Engine,
		Topic: f.Topic, Topics: int(f.Topics), Partitions: int(f.Partitions), ReplicationFactor: int(f.ReplicationFactor), TopicConfig: f.TopicConfig,
		Record: f.RecordSize, Key: key,
		BatchBytes: int(f.BatchBytes), Linger: time.Duration(f.Linger), Codec: f.Codec, Level: int(f.Level), Compressibility: f.Compressibility,
		Connections: int(f.Connections), InFlight: int(f.InFlight), Acks: int(f.Acks), Idempotent: f.Idempotent,
		Consumers: int(f.Consumers), FetchMode: f.FetchMode, FetchMaxBytes: int(f.FetchMaxBytes), FetchMinBytes: int(f.FetchMinBytes),
		FetchMaxWait: time.Duration(f.FetchMaxWait), FillBytes: int64(f.Fill),
		Rate: f.Rate, Duration: time.Duration(f.Duration), WarmUp: time.Duration(f.WarmUp), Seed: int64(f.Seed),
	}
}

// MarshalJSON writes every field, with the keys and the texts of a file.
func (s Spec) MarshalJSON() ([]byte, error) { return json.Marshal(formOf(s)) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Spec) UnmarshalJSON(text []byte) error {
	var f form
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	*s = f.spec()
	return nil
}

// keys is a KeyDist as a text; the length of keys has a field of its own.
type keys KeyDist

func (k keys) MarshalText() ([]byte, error) { return []byte(KeyDist(k).String()), nil }

func (k *keys) UnmarshalText(text []byte) error {
	d, err := ParseKeyDist(string(text))
	*k = keys(d)
	return err
}

// acks is -1, 0 or 1 as a text, or "all".
type acks int

func (a acks) MarshalText() ([]byte, error) { return []byte(FormatAcks(int(a))), nil }

func (a *acks) UnmarshalText(text []byte) error {
	n, err := ParseAcks(string(text))
	*a = acks(n)
	return err
}

// ParseAcks reads "all" (or -1), "1" or "0".
func ParseAcks(text string) (int, error) {
	if text == "all" {
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < -1 || n > 1 {
		return 0, fmt.Errorf("acks %q is not all, 1 or 0", text)
	}
	return n, nil
}

// FormatAcks is the text that ParseAcks reads.
func FormatAcks(n int) string {
	if n == -1 {
		return "all"
	}
	return strconv.Itoa(n)
}
