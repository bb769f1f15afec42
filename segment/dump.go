package segment

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// DumpOptions says how much DumpFile prints.
type DumpOptions struct {
	Records    bool  // of .log files and journals: every record, not only batches
	FromOffset int64 // of .log files: batches that end before are left out
	MaxBatches int   // of .log files; 0 means all
	JSON       bool  // of journals: a document in each line; other files have none
}

// ErrNoJSON: the file is none that DumpFile prints as JSON.
var ErrNoJSON = errors.New("only journals are printed as JSON")

// DumpFile prints a file of a log directory as text, told by its name: .log,
// .index, .snapshot, .swap, leader-epoch-checkpoint, partition.metadata, the four
// checkpoints, ringmain.properties, ringmain-journal-N. It only reads, and a broker may be
// using the file. Damage is reported where it lies, and as an error at the end. ErrNoJSON.
func DumpFile(w io.Writer, path string, opts DumpOptions) error {
	out := bufio.NewWriter(w)
	err := dump(out, path, opts)
	return errors.Join(err, out.Flush())
}

func dump(w *bufio.Writer, path string, opts DumpOptions) error {
	name := strings.TrimSuffix(filepath.Base(path), damagedSuffix)
	name, _, _ = strings.Cut(name, ".from-") // bytes taken out of a segment
	name = strings.TrimSuffix(name, cleanedSuffix)
	if strings.HasPrefix(name, journalPrefix) {
		return dumpJournal(w, path, opts)
	}
	if opts.JSON {
		return fmt.Errorf("%w, %s is none", ErrNoJSON, path)
	}
	if strings.HasSuffix(name, logSuffix) {
		base, ok := parseOffsetName(name, logSuffix)
		if !ok {
			base = 0
		}
		return dumpLog(w, path, base, opts)
	}
	b, err := vfs.ReadFile(vfs.OS{}, path)
	if err != nil {
		return err
	}
	switch {
	case strings.HasSuffix(name, indexSuffix):
		base, ok := parseOffsetName(name, indexSuffix)
		if !ok {
			return fmt.Errorf("%s: the name of an index is its base offset in 20 digits", path)
		}
		return dumpIndex(w, path, base, b)
	case strings.HasSuffix(name, snapshotSuffix):
		return dumpSnapshot(w, path, b)
	case name == epochsName:
		topic, h, err := decodeEpochs(b)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Fprintf(w, "leader epochs of topic id %s: %d\n", topic, len(h))
		for _, e := range h {
			fmt.Fprintf(w, "epoch %d starts at offset %d\n", e.Epoch, e.Start)
		}
	case name == metadataName:
		topic, partition, err := decodeMetadata(b)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Fprintf(w, "topic id %s, partition %d\n", topic, partition)
	case strings.HasSuffix(name, swapSuffix):
		r, err := decodeReplacement(b)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Fprintf(w, "topic id %s: the segments from offset %d up to %d are replaced by one of %d bytes with checksum %#08x\n", r.topic, r.base, r.end, r.size, r.crc)
	case name == pointsName, name == startsName, name == cleanedName, name == newestName:
		return dumpCheckpoint(w, path, b)
	case name == identityName:
		id, err := decodeIdentity(path, b)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "cluster %s, node %d, directory %s\n", id.ClusterID, id.NodeID, id.DirectoryID)
	default:
		return fmt.Errorf("%s: no file of a log directory has this name", path)
	}
	return nil
}

func dumpLog(w *bufio.Writer, path string, base int64, opts DumpOptions) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	size, pos, shown := st.Size(), int64(0), 0
	fmt.Fprintf(w, "log segment of base offset %d, %d bytes\n", base, size)
	head := make([]byte, record.HeaderSize)
	for pos < size {
		if size-pos < record.HeaderSize {
			return corrupt(path, pos, "%d bytes are less than a batch header", size-pos)
		}
		if _, err := f.ReadAt(head, pos); err != nil {
			return err
		}
		n := int64(record.Batch(head).Size())
		if n < record.HeaderSize || pos+n > size {
			return corrupt(path, pos, "batch length of %d bytes with %d left", n, size-pos)
		}
		b := make(record.Batch, n)
		if _, err := f.ReadAt(b, pos); err != nil {
			return err
		}
		if b.LastOffset() >= opts.FromOffset {
			if opts.MaxBatches > 0 && shown == opts.MaxBatches {
				return nil
			}
			shown++
			if err := dumpBatch(w, pos, b, opts); err != nil {
				return fmt.Errorf("%s at byte %d: %w", path, pos, err)
			}
		}
		pos += n
	}
	return nil
}

func dumpBatch(w *bufio.Writer, pos int64, b record.Batch, opts DumpOptions) error {
	sound := "ok"
	if !b.ChecksumOK() {
		sound = "WRONG"
	}
	fmt.Fprintf(w, "position %d size %d offsets %d-%d records %d epoch %d codec %s maxTimestamp %d", pos, b.Size(),
		b.BaseOffset(), b.LastOffset(), b.Count(), b.LeaderEpoch(), b.Codec(), b.MaxTimestamp())
	if b.LogAppendTime() {
		w.WriteString(" logAppendTime")
	}
	if b.ProducerID() >= 0 {
		fmt.Fprintf(w, " producer %d epoch %d sequences %d-%d", b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), b.LastSequence())
	}
	if b.Transactional() {
		w.WriteString(" transactional")
	}
	if b.Control() {
		w.WriteString(" control")
	}
	if ms, ok := b.DeleteHorizon(); ok {
		fmt.Fprintf(w, " deleteHorizon %d", ms)
	}
	fmt.Fprintf(w, " crc %#08x %s\n", b.CRC(), sound)
	if sound != "ok" {
		return fmt.Errorf("%w: checksum of the batch at offset %d", ErrCorrupt, b.BaseOffset())
	}
	if !opts.Records {
		return nil
	}
	return record.Each(b, func(rec record.Record) (bool, error) {
		fmt.Fprintf(w, "  offset %d timestamp %d key %s value %s", rec.Offset, rec.Timestamp, quoted(rec.Key), quoted(rec.Value))
		for _, h := range rec.Headers {
			fmt.Fprintf(w, " header %q=%s", h.Key, quoted(h.Value))
		}
		w.WriteByte('\n')
		return true, nil
	})
}

func quoted(b []byte) string {
	if b == nil {
		return "null"
	}
	return strconv.Quote(string(b))
}

func dumpIndex(w *bufio.Writer, path string, base int64, b []byte) error {
	if len(b) < indexHeaderSize {
		return corrupt(path, 0, "%d bytes are less than a header", len(b))
	}
	if string(b[:4]) == indexMagic {
		var topic [16]byte
		copy(topic[:], b[8:24])
		if s, err := decodeIndexHeader(b[:indexHeaderSize], topic, base); err == nil {
			fmt.Fprintf(w, "index of base offset %d for a log of %d bytes, next offset %d, largest timestamp %d, %d entries\n",
				base, s.size, s.next, s.maxTs, s.entries)
			if s.partition != noPartition {
				fmt.Fprintf(w, "partition %d, checksums %#08x of the first batch and %#08x of that at position %d\n", s.partition, s.sums.first, s.sums.last, s.lastEntry)
			}
		} else {
			fmt.Fprintf(w, "index of base offset %d, header not valid (%v)\n", base, err)
		}
	} else {
		fmt.Fprintf(w, "index of base offset %d, not sealed: its segment is being written, or was when the process ended\n", base)
	}
	for at := indexHeaderSize; at < len(b); at += indexBlockSize {
		if at+indexBlockSize > len(b) {
			return corrupt(path, int64(at), "a block of %d bytes", len(b)-at)
		}
		n, err := checkIndexBlock(b[at:at+indexBlockSize], base)
		if err != nil {
			return corrupt(path, int64(at), "block: %v", err)
		}
		for i := range n {
			e := blockEntry(b[at:], i)
			fmt.Fprintf(w, "offset %d position %d", base+int64(e.rel), e.pos)
			if e.maxTs != noIndexTimestamp {
				fmt.Fprintf(w, " largest timestamp before %d", e.maxTs)
			}
			w.WriteByte('\n')
		}
	}
	return nil
}

func dumpSnapshot(w *bufio.Writer, path string, b []byte) error {
	h, byID, err := decodeSnapshot(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	whose := ""
	if h.key.partition != noPartition {
		whose = fmt.Sprintf(", partition %d", h.key.partition)
	}
	fmt.Fprintf(w, "producers of topic id %s%s below offset %d (segment %d, position %d): %d\n", h.key.topic, whose, h.offset, h.segBase, h.pos, len(byID))
	t := producerTable{byID: byID}
	for _, info := range t.list() {
		p := byID[info.ProducerID]
		fmt.Fprintf(w, "producer %d epoch %d last seen %d\n", p.id, p.epoch, p.lastSeenMs)
		for _, m := range p.batches[:p.n] {
			fmt.Fprintf(w, "  sequences %d-%d offsets %d-%d timestamp %d\n", m.FirstSequence, m.LastSequence, m.BaseOffset, m.LastOffset, m.Timestamp)
		}
	}
	return nil
}

func dumpCheckpoint(w *bufio.Writer, path string, b []byte) error {
	damaged := 0
	_, err := parseCheckpoint(b, 0, func(at int, k pointKey, p point, ok bool) {
		switch {
		case !ok:
			damaged++
			fmt.Fprintf(w, "position %d: damaged entry\n", at)
		case p.flags&pointRemoved != 0:
			fmt.Fprintf(w, "topic id %s partition %d removed\n", k.topic, k.partition)
		default:
			fmt.Fprintf(w, "topic id %s partition %d offset %d segment %d position %d epoch %d flags %d mark %#04x\n",
				k.topic, k.partition, p.offset, p.segBase, p.pos, p.epoch, p.flags, p.first)
		}
	})
	if err == nil && damaged > 0 {
		err = fmt.Errorf("%d damaged entries: %w", damaged, errDamaged)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
