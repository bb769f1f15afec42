package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// A snapshot is a header, blocks, and an end block:
//
//	header  magic "RMSNAP\r\n" (8 bytes), version uint32, offset int64,
//	        features epoch int64, crc32c of these 28 bytes uint32
//	block   size uint32 (1 and up), crc32c of the content uint32, content: a
//	        slice of records as Encode writes it
//	end     size 0, crc32c of all blocks' checksums in order uint32
//
// Numbers are big-endian. The records recreate the image when applied to an
// empty one; offset and features epoch, which the records cannot carry, are in
// the header. Equal images give equal bytes.

var snapshotMagic = [8]byte{'R', 'M', 'S', 'N', 'A', 'P', '\r', '\n'}

const (
	snapshotVersion    = 1
	snapshotHeaderSize = 8 + 4 + 8 + 8 + 4

	// snapshotBlockRecords is after how many records a block is closed; a topic
	// with many partitions is not split, so that each block applies by itself.
	snapshotBlockRecords = 1024

	// snapshotBlockMax is far above any block: the partitions of one topic.
	snapshotBlockMax = 256 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WriteSnapshot writes img. The bytes depend on nothing but the image.
func WriteSnapshot(w io.Writer, img *Image) error {
	header := append([]byte(nil), snapshotMagic[:]...)
	header = binary.BigEndian.AppendUint32(header, snapshotVersion)
	header = binary.BigEndian.AppendUint64(header, uint64(img.offset))
	header = binary.BigEndian.AppendUint64(header, uint64(img.featuresEpoch))
	header = binary.BigEndian.AppendUint32(header, crc32.Checksum(header, castagnoli))
	if _, err := w.Write(header); err != nil {
		return fmt.Errorf("write metadata snapshot: %w", err)
	}
	s := snapshotWriter{w: w}
	img.dump(s.add)
	return s.end()
}

type snapshotWriter struct {
	w       io.Writer
	records []Record
	buf     []byte
	chain   uint32 // crc32c over the checksums so far
	err     error
}

// add takes records that must stay together.
func (s *snapshotWriter) add(records ...Record) {
	s.records = append(s.records, records...)
	if len(s.records) >= snapshotBlockRecords {
		s.flush()
	}
}

func (s *snapshotWriter) flush() {
	if len(s.records) == 0 || s.err != nil {
		return
	}
	s.buf = AppendRecords(append(s.buf[:0], make([]byte, 8)...), s.records)
	s.records = s.records[:0]
	content := s.buf[8:]
	if len(content) > snapshotBlockMax {
		s.err = fmt.Errorf("write metadata snapshot: a block of %d bytes is above the limit of %d", len(content), snapshotBlockMax)
		return
	}
	binary.BigEndian.PutUint32(s.buf, uint32(len(content)))
	binary.BigEndian.PutUint32(s.buf[4:], crc32.Checksum(content, castagnoli))
	s.chain = crc32.Update(s.chain, castagnoli, s.buf[4:8])
	s.write(s.buf)
}

func (s *snapshotWriter) end() error {
	s.flush()
	s.write(binary.BigEndian.AppendUint32(make([]byte, 4), s.chain))
	return s.err
}

func (s *snapshotWriter) write(b []byte) {
	if s.err != nil {
		return
	}
	if _, err := s.w.Write(b); err != nil {
		s.err = fmt.Errorf("write metadata snapshot: %w", err)
	}
}

// dump calls add with the records that recreate the image, in one fixed order.
func (i *Image) dump(add func(...Record)) {
	if i.clusterID != "" {
		add(ClusterRecord{ClusterID: i.clusterID})
	}
	for _, name := range sortedKeys(i.features) {
		add(FeatureRecord{Name: name, Level: i.features[name]})
	}
	if i.nextProducer != 0 {
		add(ProducerIDsRecord{Next: i.nextProducer})
	}
	for _, b := range i.brokers {
		add(RegisterBrokerRecord{Broker: *b})
	}
	var records []Record
	for _, name := range i.TopicNames() {
		t := i.Topic(name)
		records = append(records[:0], TopicRecord{Name: t.Name, ID: t.ID})
		for p := range t.Partitions {
			records = append(records, PartitionRecord{TopicID: t.ID, Index: int32(p), Partition: t.Partitions[p]})
		}
		add(records...)
	}
	for _, r := range i.resources() {
		m := i.Config(r.Kind, r.Name)
		for _, key := range sortedKeys(m) {
			value := m[key]
			add(ConfigRecord{Kind: r.Kind, Name: r.Name, Key: key, Value: &value})
		}
	}
}

// ReadSnapshot reads what WriteSnapshot wrote. The error wraps ErrNewer or
// ErrCorrupt and names the byte, or is what the reader returned.
func ReadSnapshot(r io.Reader) (*Image, error) {
	s := snapshotReader{r: r}
	header := s.read(snapshotHeaderSize, "the header")
	if s.err != nil {
		return nil, s.err
	}
	if [8]byte(header) != snapshotMagic {
		return nil, fmt.Errorf("%w: at byte 0: this is not a metadata snapshot", ErrCorrupt)
	}
	if v := binary.BigEndian.Uint32(header[8:]); v > snapshotVersion {
		return nil, fmt.Errorf("%w: the metadata snapshot has version %d, this release reads up to %d", ErrNewer, v, snapshotVersion)
	}
	if crc32.Checksum(header[:28], castagnoli) != binary.BigEndian.Uint32(header[28:]) {
		return nil, fmt.Errorf("%w: at byte 0: the checksum of the snapshot's header is wrong", ErrCorrupt)
	}
	offset, featuresEpoch := int64(binary.BigEndian.Uint64(header[12:])), int64(binary.BigEndian.Uint64(header[20:]))
	if offset < 0 || featuresEpoch < -1 || featuresEpoch > offset {
		return nil, fmt.Errorf("%w: at byte 12: offset %d and features epoch %d cannot be", ErrCorrupt, offset, featuresEpoch)
	}

	// A draft that spans the blocks: topics and maps are copied once, not once
	// for each block.
	d := draft{old: Empty(), index: math.MaxInt64, edit: new(edit)}
	d.img.featuresEpoch = -1
	for {
		block := s.block()
		if s.err != nil {
			return nil, s.err
		}
		if block == nil {
			break
		}
		records, err := Decode(block)
		for n := 0; n < len(records) && err == nil; n++ {
			if err = d.apply(records[n]); err != nil {
				err = fmt.Errorf("%w: record %d: %w", ErrCorrupt, n+1, err)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("snapshot block that starts at byte %d: %w", s.at-int64(len(block)), err)
		}
	}
	d.img.offset, d.img.featuresEpoch = offset, featuresEpoch
	return &d.img, nil
}

type snapshotReader struct {
	r     io.Reader
	at    int64
	chain uint32
	err   error
}

func (s *snapshotReader) read(n int, what string) []byte {
	var b bytes.Buffer // grows with what is there, not with what a damaged size announces
	got, err := io.CopyN(&b, s.r, int64(n))
	if errors.Is(err, io.EOF) {
		s.err = fmt.Errorf("%w: at byte %d: the snapshot ends within %s", ErrCorrupt, s.at+got, what)
		return nil
	}
	if err != nil {
		s.err = fmt.Errorf("read metadata snapshot at byte %d: %w", s.at, err)
		return nil
	}
	s.at += got
	return b.Bytes()
}

// block returns the content of the next block, nil at the end.
func (s *snapshotReader) block() []byte {
	start := s.at
	head := s.read(8, "a block's header")
	if s.err != nil {
		return nil
	}
	size, sum := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	if size == 0 {
		if sum != s.chain {
			s.err = fmt.Errorf("%w: at byte %d: the end does not match the blocks before it", ErrCorrupt, start)
		}
		return nil
	}
	if size > snapshotBlockMax {
		s.err = fmt.Errorf("%w: at byte %d: a block of %d bytes is announced, the limit is %d", ErrCorrupt, start, size, snapshotBlockMax)
		return nil
	}
	content := s.read(int(size), "a block")
	if s.err != nil {
		return nil
	}
	if crc32.Checksum(content, castagnoli) != sum {
		s.err = fmt.Errorf("%w: at byte %d: the checksum of the block is wrong", ErrCorrupt, start)
		return nil
	}
	s.chain = crc32.Update(s.chain, castagnoli, head[4:])
	return content
}
