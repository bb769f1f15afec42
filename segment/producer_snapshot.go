package segment

import (
	"encoding/binary"
	"maps"
	"slices"

	"ringmain/model"
)

const (
	snapshotMagic   = "RMPS"
	snapshotVersion = 2 // 1 does not name the partition

	snapshotDoubt = 1 << 0 // producer.doubt
)

// snapshotHead says where in the log a snapshot was taken: everything below
// offset is in it, and the batch at offset begins at pos of the segment.
type snapshotHead struct {
	key     pointKey // of partition noPartition in a snapshot of version 1
	offset  int64
	segBase int64
	pos     int64
}

const (
	snapshotHeadSize  = 16 + 4 + 8 + 8 + 8 + 4
	snapshotEntrySize = 8 + 2 + 1 + 1 + 4 + 8 + 8
	snapshotBatchSize = 4 + 4 + 8 + 8 + 8 + 8
)

// encodeSnapshot writes the table as it is now, staged batches included.
func encodeSnapshot(h snapshotHead, t *producerTable) []byte {
	b := make([]byte, 0, snapshotHeadSize+len(t.byID)*(snapshotEntrySize+keptBatches*snapshotBatchSize))
	b = append(b, h.key.topic[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.key.partition))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.offset))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.segBase))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.pos))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(t.byID)))
	for _, id := range slices.Sorted(maps.Keys(t.byID)) { // sorted: equal states give equal files
		p := t.byID[id]
		b = binary.LittleEndian.AppendUint64(b, uint64(p.id))
		b = binary.LittleEndian.AppendUint16(b, uint16(p.epoch))
		flags := byte(0)
		if p.doubt {
			flags = snapshotDoubt
		}
		b = append(b, p.n, flags)
		b = binary.LittleEndian.AppendUint32(b, uint32(p.coordinatorEpoch))
		b = binary.LittleEndian.AppendUint64(b, uint64(p.txnStart))
		b = binary.LittleEndian.AppendUint64(b, uint64(p.lastSeenMs))
		for _, m := range p.batches[:p.n] {
			b = binary.LittleEndian.AppendUint32(b, uint32(m.FirstSequence))
			b = binary.LittleEndian.AppendUint32(b, uint32(m.LastSequence))
			b = binary.LittleEndian.AppendUint64(b, uint64(m.BaseOffset))
			b = binary.LittleEndian.AppendUint64(b, uint64(m.LastOffset))
			b = binary.LittleEndian.AppendUint64(b, uint64(m.Timestamp))
			b = binary.LittleEndian.AppendUint64(b, uint64(m.AppendTimeMs))
		}
	}
	return sealEnvelope(snapshotMagic, snapshotVersion, b)
}

func decodeSnapshot(file []byte) (h snapshotHead, byID map[int64]*producer, err error) {
	b, err := openEnvelope(file, snapshotMagic, snapshotVersion)
	if err != nil {
		return h, nil, err
	}
	h.key.partition = noPartition
	named := binary.LittleEndian.Uint16(file[4:]) > 1
	if len(b) < snapshotHeadSize-4 || named && len(b) < snapshotHeadSize {
		return h, nil, errDamaged
	}
	u32 := func() uint32 { v := binary.LittleEndian.Uint32(b); b = b[4:]; return v }
	u64 := func() int64 { v := binary.LittleEndian.Uint64(b); b = b[8:]; return int64(v) }
	h.key.topic, b = model.TopicID(b[:16]), b[16:]
	if named {
		h.key.partition = int32(u32())
	}
	h.offset, h.segBase, h.pos = u64(), u64(), u64()
	count := u32()
	byID = make(map[int64]*producer)
	for range count {
		if len(b) < snapshotEntrySize {
			return h, nil, errDamaged
		}
		p := &producer{id: u64(), epoch: int16(binary.LittleEndian.Uint16(b)), n: b[2], doubt: b[3]&snapshotDoubt != 0}
		b = b[4:]
		p.coordinatorEpoch, p.txnStart, p.lastSeenMs = int32(u32()), u64(), u64()
		if p.n > keptBatches || len(b) < int(p.n)*snapshotBatchSize {
			return h, nil, errDamaged
		}
		for i := range p.batches[:p.n] {
			p.batches[i] = BatchMeta{int32(u32()), int32(u32()), u64(), u64(), u64(), u64()}
		}
		byID[p.id] = p
	}
	if len(b) != 0 {
		return h, nil, errDamaged
	}
	return h, byID, nil
}

// isOf tells whether a snapshot is a partition's, as far as it says so.
func (h snapshotHead) isOf(k pointKey) bool {
	return h.key.topic == k.topic && (h.key.partition == k.partition || h.key.partition == noPartition)
}
