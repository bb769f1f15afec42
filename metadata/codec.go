package metadata

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// An encoded list of records is
//
//	format   byte     1
//	count    uvarint
//	records  count times: type uvarint, version uvarint, size uvarint, body
//
// and lists may follow each other: joined encodings are the encoding of the
// joined lists. A body
// is described at its record's append function. A change to a body
// raises that record's version, and the old body stays readable; a new kind of
// record gets a new type. Both make older releases refuse the log with
// ErrNewer, so a release writes a new form only after the finalized
// metadata.version allows it.

// recordsFormat is the version of the frame around the bodies.
const recordsFormat = 1

// recordVersion is the version that each body is written with, which is also
// the newest that is understood.
const recordVersion = 1

// Encode returns the bytes of records. They carry no checksum: the log and the
// snapshot that they are put into do.
func Encode(records []Record) []byte { return AppendRecords(nil, records) }

// AppendRecords appends what Encode returns to b.
func AppendRecords(b []byte, records []Record) []byte {
	b = append(b, recordsFormat)
	b = binary.AppendUvarint(b, uint64(len(records)))
	var body []byte
	for _, r := range records {
		body = appendBody(body[:0], r)
		b = binary.AppendUvarint(b, uint64(r.recordType()))
		b = binary.AppendUvarint(b, recordVersion)
		b = binary.AppendUvarint(b, uint64(len(body)))
		b = append(b, body...)
	}
	return b
}

// Decode reads what Encode wrote, once or several times. The error wraps
// ErrNewer or ErrCorrupt, and then no record is returned.
func Decode(b []byte) ([]Record, error) {
	c := cursor{b: b}
	var records []Record
	for {
		var err error
		if records, err = decodeList(&c, records); err != nil {
			return nil, err
		}
		if c.left() == 0 {
			return records, nil
		}
	}
}

func decodeList(c *cursor, records []Record) ([]Record, error) {
	start := c.at
	if f := c.take(1); c.err == nil && f[0] != recordsFormat {
		if f[0] == 0 {
			return nil, fmt.Errorf("%w: at byte %d: 0 is no version of a list of records", ErrCorrupt, start)
		}
		return nil, fmt.Errorf("%w: a list of metadata records has format version %d, this release reads up to %d", ErrNewer, f[0], recordsFormat)
	}
	n := c.uvarint()
	if c.err == nil && n > uint64(c.left())/3 { // type, version and size take a byte each
		c.fail("%d records are announced and %d bytes are there", n, c.left())
	}
	if c.err != nil {
		return nil, c.err
	}
	records = slices.Grow(records, int(n))
	for range n {
		r, err := decodeRecord(c)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

func decodeRecord(c *cursor) (Record, error) {
	kind, version, size := recordType(c.uvarint()), c.uvarint(), c.uvarint()
	start := c.at
	body := cursor{b: c.take(size), ints: c.ints}
	if c.err != nil {
		return nil, c.err
	}
	if version == 0 {
		return nil, fmt.Errorf("%w: at byte %d: 0 is no version of a record", ErrCorrupt, start)
	}
	if kind == 0 {
		return nil, fmt.Errorf("%w: at byte %d: 0 is no type of a record", ErrCorrupt, start)
	}
	if kind > typeProducerIDs {
		return nil, fmt.Errorf("%w: a metadata record has type %d, this release knows types up to %d", ErrNewer, kind, typeProducerIDs)
	}
	if version > recordVersion {
		return nil, fmt.Errorf("%w: a metadata record of type %d has version %d, this release reads up to %d", ErrNewer, kind, version, recordVersion)
	}
	r := readBody(&body, kind)
	if body.err == nil && body.left() != 0 {
		body.fail("%d bytes are left over", body.left())
	}
	if body.err != nil {
		return nil, fmt.Errorf("record of type %d that starts at byte %d: %w", kind, start, body.err)
	}
	c.ints = body.ints
	return r, nil
}

func appendBody(b []byte, r Record) []byte {
	switch r := r.(type) {
	case ClusterRecord: // cluster id string
		return appendString(b, r.ClusterID)
	case FeatureRecord: // name string, level int
		return appendInt(appendString(b, r.Name), int64(r.Level))
	case RegisterBrokerRecord:
		return appendBroker(b, &r.Broker)
	case TopicRecord: // name string, topic id
		return append(appendString(b, r.Name), r.ID[:]...)
	case PartitionRecord: // topic id, index int, state
		b = appendInt(append(b, r.TopicID[:]...), int64(r.Index))
		return appendPartition(b, &r.Partition)
	case PartitionChangeRecord:
		return appendPartitionChange(b, &r)
	case RaiseEpochsRecord: // broker id int
		return appendInt(b, int64(r.Broker))
	case RemoveTopicRecord: // topic id
		return append(b, r.ID[:]...)
	case ConfigRecord: // kind int, name string, key string, value optional string
		b = appendString(appendInt(b, int64(r.Kind)), r.Name)
		return appendOptionalString(appendString(b, r.Key), r.Value)
	case ProducerIDsRecord: // next id int
		return appendInt(b, r.Next)
	}
	panic(fmt.Sprintf("record of unknown type %T", r)) // the set is closed
}

func readBody(c *cursor, kind recordType) Record {
	switch kind {
	case typeCluster:
		return ClusterRecord{ClusterID: c.string()}
	case typeFeature:
		return FeatureRecord{Name: c.string(), Level: int16(c.int(-1<<15, 1<<15-1))}
	case typeRegisterBroker:
		return RegisterBrokerRecord{Broker: readBroker(c)}
	case typeTopic:
		return TopicRecord{Name: c.string(), ID: c.id()}
	case typePartition:
		return PartitionRecord{TopicID: c.id(), Index: c.int32(), Partition: readPartition(c)}
	case typePartitionChange:
		return readPartitionChange(c)
	case typeRaiseEpochs:
		return RaiseEpochsRecord{Broker: c.int32()}
	case typeRemoveTopic:
		return RemoveTopicRecord{ID: c.id()}
	case typeConfig:
		return ConfigRecord{Kind: ResourceKind(c.int(-128, 127)), Name: c.string(), Key: c.string(), Value: c.optionalString()}
	case typeProducerIDs:
		return ProducerIDsRecord{Next: c.int64()}
	}
	panic(fmt.Sprintf("record type %d was let through", kind))
}

// appendPartition: replicas, isr, adding, removing lists of int; leader, leader
// epoch, partition epoch int.
func appendPartition(b []byte, p *Partition) []byte {
	for _, list := range [...][]int32{p.Replicas, p.ISR, p.Adding, p.Removing} {
		b = appendInts(b, list)
	}
	return appendInt(appendInt(appendInt(b, int64(p.Leader)), int64(p.LeaderEpoch)), int64(p.PartitionEpoch))
}

func readPartition(c *cursor) Partition {
	return Partition{
		Replicas: c.int32s(), ISR: c.int32s(), Adding: c.int32s(), Removing: c.int32s(),
		Leader: c.int32(), LeaderEpoch: c.int32(), PartitionEpoch: c.int32(),
	}
}

// appendPartitionChange: topic id, index int; has leader bool, leader int if it
// has; isr, replicas, adding, removing optional lists of int.
func appendPartitionChange(b []byte, r *PartitionChangeRecord) []byte {
	b = appendInt(append(b, r.TopicID[:]...), int64(r.Index))
	b = appendBool(b, r.Leader != nil)
	if r.Leader != nil {
		b = appendInt(b, int64(*r.Leader))
	}
	for _, list := range [...][]int32{r.ISR, r.Replicas, r.Adding, r.Removing} {
		b = appendOptionalInts(b, list)
	}
	return b
}

func readPartitionChange(c *cursor) PartitionChangeRecord {
	r := PartitionChangeRecord{TopicID: c.id(), Index: c.int32()}
	if c.bool() {
		leader := c.int32()
		r.Leader = &leader
	}
	r.ISR, r.Replicas = c.optionalInt32s(), c.optionalInt32s()
	r.Adding, r.Removing = c.optionalInt32s(), c.optionalInt32s()
	return r
}

// appendBroker: id int, rack string, incarnation id, fenced bool, number of
// endpoints uvarint, and for each: listener string, host string, port int,
// protocol string.
func appendBroker(b []byte, br *Broker) []byte {
	b = appendString(appendInt(b, int64(br.ID)), br.Rack)
	b = append(b, br.Incarnation[:]...)
	b = appendBool(b, br.Fenced)
	b = binary.AppendUvarint(b, uint64(len(br.Endpoints)))
	for i := range br.Endpoints {
		e := &br.Endpoints[i]
		b = appendString(appendString(b, e.Listener), e.Host)
		b = appendString(appendInt(b, int64(e.Port)), e.Protocol)
	}
	return b
}

func readBroker(c *cursor) Broker {
	br := Broker{ID: c.int32(), Rack: c.string(), Incarnation: c.id(), Fenced: c.bool()}
	n := c.uvarint()
	if n > uint64(c.left())/4 { // three strings and a number take a byte each
		c.fail("%d endpoints are announced and %d bytes are there", n, c.left())
		return br
	}
	for range n {
		br.Endpoints = append(br.Endpoints, Endpoint{Listener: c.string(), Host: c.string(), Port: c.int32(), Protocol: c.string()})
	}
	return br
}
