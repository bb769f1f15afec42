package segment

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"ringmain/internal/vfs"
)

// A journal makes what was appended to many logs durable with one sync. The bytes are
// in their .log files already, where the page cache has them; the journal holds
// them a second time, in a file that is written over and over: its blocks are there, so
// a sync of it has no metadata to write and costs the same whatever the number of logs
// (docs/decisions/0030-journal-of-many-logs.md, docs/format/journal.md).
//
// The file has a head and two halves, which are filled in turn. Before a half is filled
// again, the .log files with bytes in it are synced themselves. After an unclean
// stop the commits in it are written to their files again, before recovery looks
// at them.
const (
	journalPrefix  = "ringmain-journal-"
	journalMagic   = "RMJF"
	journalVersion = 1
	// journalBlock is what commits and halves are aligned to: a commit that is torn
	// cannot touch the sectors of the one before.
	journalBlock = 4096

	commitMagic = "RMJC"
	commitHead  = 40
	entryHead   = 40 // of an entry in a commit's table, before the topic's name
)

// journal is one file, of one shard in one log directory. One goroutine at a time.
type journal struct {
	fs         vfs.FS
	path       string
	file       vfs.File
	half       int64  // bytes of each half
	generation uint64 // of the half being filled; each filling has its own
	current    int    // 0 or 1
	at         int64  // in the current half
	sequence   uint64 // of the next commit in this generation
	buf        []byte
}

// journalHead is the first block: what the file is.
func journalHead(half int64) []byte {
	b := make([]byte, journalBlock)
	copy(b, journalMagic)
	binary.LittleEndian.PutUint16(b[4:], journalVersion)
	binary.LittleEndian.PutUint64(b[8:], uint64(half))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[:16], castagnoli))
	return b
}

// readJournalHead gives the size of a half.
func readJournalHead(b []byte) (half int64, err error) {
	switch {
	case string(b[:4]) != journalMagic || crc32.Checksum(b[:16], castagnoli) != binary.LittleEndian.Uint32(b[16:]):
		return 0, errDamaged
	case binary.LittleEndian.Uint16(b[4:]) > journalVersion:
		return 0, fmt.Errorf("%w: journal version %d, this binary reads up to %d", ErrNewer, binary.LittleEndian.Uint16(b[4:]), journalVersion)
	}
	return int64(binary.LittleEndian.Uint64(b[8:])), nil
}

// makeJournal writes a journal full of zeros, of two halves. It takes as long as
// writing so many bytes to the disk does.
func makeJournal(fsys vfs.FS, path string, half int64, stop <-chan struct{}) (*journal, error) {
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	j := &journal{fs: fsys, path: path, file: f, half: half, current: -1}
	zeros := make([]byte, 1<<20)
	for at := int64(journalBlock); at < journalBlock+2*half && err == nil; at += int64(len(zeros)) {
		select {
		case <-stop:
			err = ErrClosed
		default:
			_, err = f.WriteAt(zeros[:min(int64(len(zeros)), journalBlock+2*half-at)], at)
		}
	}
	if err == nil {
		_, err = f.WriteAt(journalHead(half), 0)
	}
	if err == nil {
		err = f.SyncData()
	}
	if err == nil {
		err = fsys.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		_ = fsys.Remove(path)
		return nil, fmt.Errorf("make journal %s: %w", path, err)
	}
	return j, nil
}

// other is the half that is not being filled; the first one to begin with.
func (j *journal) other() int { return (j.current + 1) % 2 }

// begin takes the other half, which must be free.
func (j *journal) begin() {
	j.current = j.other()
	j.generation++
	j.at, j.sequence = 0, 0
}

// room says whether a commit of so many bytes fits into the current half.
func (j *journal) room(bytes int64) bool {
	return j.current >= 0 && j.at+bytes <= j.half
}

// commitSize is how much a commit takes at most.
func commitSize(ds []Dirty) int64 {
	n := int64(commitHead)
	for i := range ds {
		n += entryHead + int64(len(ds[i].log.tp.Topic)) + ds[i].To - ds[i].From
	}
	return (n + journalBlock - 1) / journalBlock * journalBlock
}

// commit writes what ds stand for and syncs it. There must be room.
func (j *journal) commit(ds []Dirty) error {
	b := append(j.buf[:0], make([]byte, commitHead)...)
	for i := range ds {
		d := &ds[i]
		b = append(b, d.log.topic[:]...)
		b = binary.LittleEndian.AppendUint32(b, uint32(d.log.tp.Partition))
		b = binary.LittleEndian.AppendUint32(b, uint32(d.To-d.From))
		b = binary.LittleEndian.AppendUint64(b, uint64(d.File.base))
		b = binary.LittleEndian.AppendUint32(b, uint32(d.From))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(d.log.tp.Topic)))
		b = append(b, d.log.tp.Topic...)
	}
	for i := range ds {
		d := &ds[i]
		from := len(b)
		b = append(b, make([]byte, d.To-d.From)...)
		if _, err := d.File.ReadAt(b[from:], d.From); err != nil {
			return fmt.Errorf("read %s back for the journal: %w", d.File.Path(), err)
		}
	}
	j.buf = b
	copy(b, commitMagic)
	binary.LittleEndian.PutUint64(b[8:], j.generation)
	binary.LittleEndian.PutUint64(b[16:], j.sequence)
	binary.LittleEndian.PutUint32(b[24:], uint32(len(ds)))
	binary.LittleEndian.PutUint32(b[28:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[32:], crc32.Checksum(b[commitHead:], castagnoli))
	binary.LittleEndian.PutUint32(b[36:], crc32.Checksum(b[:36], castagnoli))
	if _, err := j.file.WriteAt(b, journalBlock+int64(j.current)*j.half+j.at); err != nil {
		return fmt.Errorf("write journal %s: %w", j.path, err)
	}
	if err := j.file.SyncData(); err != nil {
		return fmt.Errorf("sync journal %s: %w", j.path, err)
	}
	j.at += (int64(len(b)) + journalBlock - 1) / journalBlock * journalBlock
	j.sequence++
	if cap(j.buf) > maxJournalBuffer {
		j.buf = nil
	}
	return nil
}

// maxJournalBuffer is the largest buffer that a journal keeps.
const maxJournalBuffer = 4 << 20

// journalPath names the journal of a shard.
func journalPath(dir string, shard int) string {
	return filepath.Join(dir, fmt.Sprintf("%s%d", journalPrefix, shard))
}
