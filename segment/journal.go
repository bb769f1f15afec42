package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"ringmain/internal/vfs"
	"ringmain/model"
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

// commitRead is a commit found in a journal.
type commitRead struct {
	generation, sequence uint64
	entries              []entryRead
}

// entryRead is what one log had appended.
type entryRead struct {
	topic     model.TopicID
	tp        model.TopicPartition
	base, pos int64
	bytes     []byte
}

// halfReader reads the commits of one half in order: those of the generation that its
// first one has, up to the first that is not whole.
type halfReader struct {
	file       vfs.File
	at, end    int64
	generation uint64 // of the first commit, once there is one
	sequence   uint64 // of the next
	buf        []byte // of the last commit
}

// next gives the next commit, valid until the one after it.
func (h *halfReader) next() (c commitRead, ok bool, err error) {
	head := make([]byte, commitHead)
	if h.at+commitHead > h.end {
		return c, false, nil
	}
	if _, err := h.file.ReadAt(head, h.at); err != nil {
		return c, false, err
	}
	length := int64(binary.LittleEndian.Uint32(head[28:]))
	if string(head[:4]) != commitMagic || crc32.Checksum(head[:36], castagnoli) != binary.LittleEndian.Uint32(head[36:]) || length < commitHead || h.at+length > h.end {
		return c, false, nil
	}
	if int64(cap(h.buf)) < length {
		h.buf = make([]byte, length)
	}
	h.buf = h.buf[:length]
	if _, err := h.file.ReadAt(h.buf, h.at); err != nil {
		return c, false, err
	}
	c, ok = readCommit(h.buf)
	if !ok || c.sequence != h.sequence || h.sequence > 0 && c.generation != h.generation {
		return c, false, nil
	}
	h.generation = c.generation
	h.sequence++
	h.at += (length + journalBlock - 1) / journalBlock * journalBlock
	return c, true, nil
}

// rewind begins anew.
func (h *halfReader) rewind(at int64) { h.at, h.sequence, h.generation = at, 0, 0 }

// readCommit reads a commit of exactly b, whose head was checked.
func readCommit(b []byte) (c commitRead, ok bool) {
	if crc32.Checksum(b[commitHead:], castagnoli) != binary.LittleEndian.Uint32(b[32:]) {
		return c, false
	}
	c.generation, c.sequence = binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
	count := int(binary.LittleEndian.Uint32(b[24:]))
	rest := b[commitHead:]
	sizes := make([]int, 0, min(count, len(rest)/entryHead))
	for range count {
		if len(rest) < entryHead {
			return c, false
		}
		var e entryRead
		copy(e.topic[:], rest)
		e.tp.Partition = int32(binary.LittleEndian.Uint32(rest[16:]))
		n := int(binary.LittleEndian.Uint32(rest[20:]))
		e.base = int64(binary.LittleEndian.Uint64(rest[24:]))
		e.pos = int64(binary.LittleEndian.Uint32(rest[32:]))
		name := int(binary.LittleEndian.Uint32(rest[36:]))
		if name > len(rest)-entryHead {
			return c, false
		}
		e.tp.Topic = string(rest[entryHead : entryHead+name])
		rest = rest[entryHead+name:]
		sizes = append(sizes, n)
		c.entries = append(c.entries, e)
	}
	for i, n := range sizes {
		if n > len(rest) {
			return c, false
		}
		c.entries[i].bytes, rest = rest[:n], rest[n:]
	}
	return c, true
}

// replayJournals writes what the journals of the directory hold to the .log files, as
// far as these may lack it, and syncs them; then no commit counts any more. unclean: the
// last process did not close its logs. It runs before any log is opened.
func (d *Dir) replayJournals(unclean bool) error {
	es, err := d.fs.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("read data directory: %w", err)
	}
	removed := false
	for _, e := range es {
		if e.IsDir || !strings.HasPrefix(e.Name, journalPrefix) {
			continue
		}
		path := filepath.Join(d.path, e.Name)
		if unclean {
			if err := d.replayJournal(path); err != nil {
				return fmt.Errorf("replay journal %s: %w", path, err)
			}
		}
		// The next need makes a new one: its blocks may not be as many as are wanted now.
		if err := d.fs.Remove(path); err != nil {
			return fmt.Errorf("remove journal %s: %w", path, err)
		}
		removed = true
	}
	if removed { // one that came back would put old bytes over new ones
		if err := d.fs.SyncDir(d.path); err != nil {
			return fmt.Errorf("remove journals: %w", err)
		}
	}
	return nil
}

func (d *Dir) replayJournal(path string) error {
	f, err := d.fs.OpenFile(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	head := make([]byte, journalBlock)
	half := int64(0)
	if size >= journalBlock {
		if _, err := f.ReadAt(head, 0); err != nil {
			return err
		}
		if half, err = readJournalHead(head); errors.Is(err, ErrNewer) {
			return err
		}
	}
	if half < journalBlock || size < journalBlock+2*half {
		// Its head is written last and synced before the first commit: there was none,
		// or the disk has lost it, and then recovery finds what the files hold.
		d.log.Warn("journal is damaged or was never finished, and is ignored; logs are checked without it", "file", path, "bytes", size)
		return nil
	}
	halves := [2]*halfReader{
		{file: f, at: journalBlock, end: journalBlock + half},
		{file: f, at: journalBlock + half, end: journalBlock + 2*half},
	}
	for _, h := range halves { // only to learn which is older
		at := h.at
		if _, _, err := h.next(); err != nil {
			return err
		}
		generation := h.generation
		h.rewind(at)
		h.generation = generation
	}
	if halves[0].generation > halves[1].generation {
		halves[0], halves[1] = halves[1], halves[0]
	}
	r := &replay{dir: d, homes: map[model.TopicPartition]bool{}, files: map[string]vfs.File{}}
	defer r.close()
	for _, h := range halves {
		for {
			c, ok, err := h.next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			for i := range c.entries {
				if err := r.write(&c.entries[i]); err != nil {
					return err
				}
			}
		}
	}
	if err := r.sync(); err != nil {
		return err
	}
	if r.bytes > 0 {
		d.log.Info("journal replayed", "file", path, "files", len(r.files), "bytes", r.bytes)
	}
	return nil
}

// replay writes entries to files.
type replay struct {
	dir   *Dir
	homes map[model.TopicPartition]bool // whether the directory is that of the topic
	files map[string]vfs.File
	bytes int64
}

// write puts an entry where it belongs, unless it is known to be there, or its topic
// or segment is gone.
func (r *replay) write(e *entryRead) error {
	d := r.dir
	if p, ok := d.points.get(pointKey{e.topic, e.tp.Partition}); ok {
		// What lies before the recovery point was synced in its own file, and may
		// have been cleaned since.
		if p.flags&pointRemoved != 0 || e.base < p.segBase || e.base == p.segBase && e.pos+int64(len(e.bytes)) <= p.pos {
			return nil
		}
	}
	ours, known := r.homes[e.tp]
	if !known {
		id, err := d.TopicIDOf(e.tp)
		ours = err == nil && id == e.topic
		r.homes[e.tp] = ours
	}
	if !ours {
		return nil
	}
	path := offsetPath(filepath.Join(d.path, e.tp.String()), e.base, logSuffix)
	f := r.files[path]
	if f == nil {
		var err error
		if f, err = d.fs.OpenFile(path, os.O_RDWR); isNotExist(err) {
			return nil // retention has taken it
		}
		if err != nil {
			return err
		}
		r.files[path] = f
	}
	r.bytes += int64(len(e.bytes))
	_, err := f.WriteAt(e.bytes, e.pos)
	return err
}

func (r *replay) sync() error {
	for path, f := range r.files {
		if err := f.SyncData(); err != nil {
			return fmt.Errorf("sync %s: %w", path, err)
		}
	}
	return nil
}

func (r *replay) close() {
	for _, f := range r.files {
		f.Close()
	}
}

// journalPath names the journal of a shard.
func journalPath(dir string, shard int) string {
	return filepath.Join(dir, fmt.Sprintf("%s%d", journalPrefix, shard))
}
