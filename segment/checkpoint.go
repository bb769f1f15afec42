package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// A checkpoint file is a header and fixed-size entries that are only ever
// appended; the last one of a partition counts. It is written anew when most
// of it is old. Thus one partition's change costs one small write, not a
// rewrite of all partitions, and a torn write can only hit the newest entry.
const (
	checkpointMagic   = "RMCK"
	checkpointVersion = 1
	checkpointHead    = 16
	checkpointEntry   = 56

	// checkpointReserve is how many bytes are kept ready behind the entries: on a
	// full disk DeleteRecords and retention have to note a new log start before
	// they may free anything, a thousand times.
	checkpointReserve = 64 << 10
)

// pointKey names a partition by topic id, so that a topic created again under
// an old name never inherits anything.
type pointKey struct {
	topic     model.TopicID
	partition int32
}

// point is one entry. In the files of log starts and cleaned offsets only offset is used;
// in that of newest segments it is one that no record has reached, and segBase the segment.
type point struct {
	offset  int64
	segBase int64 // segment that holds offset
	pos     int64 // of the batch at offset in that segment; its size if offset is the end
	epoch   int32 // latest leader epoch below offset
	flags   uint16
	first   uint16 // mark of the first batch of that segment, 0 if not known
}

const (
	pointNoProducers = 1 << 0 // the producer table was empty at offset
	pointRemoved     = 1 << 1 // the partition is gone
)

// checkpoint is one such file, open. Any goroutine.
type checkpoint struct {
	mu     sync.Mutex
	fs     vfs.FS
	path   string
	kind   uint16 // 1 recovery points, 2 log starts, 3 cleaned offsets, 4 newest segments
	file   vfs.File
	size   int64
	ready  int64 // blocks are reserved up to here
	dirty  bool
	fresh  bool // the name is not durable
	failed error
	points map[pointKey]point
}

func openCheckpoint(fsys vfs.FS, path string, kind uint16, log *slog.Logger) (*checkpoint, error) {
	c := &checkpoint{fs: fsys, path: path, kind: kind, points: make(map[pointKey]point)}
	b, err := vfs.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		// Durable, once: an empty one is not synced again for as long as nothing is noted in
		// it. The notes of newest segments count for nothing after a power cut.
		if err := c.writeLocked(kind != 4); err != nil && !transient(err) {
			return nil, err
		}
		return c, nil // without room for it, it is made by the first entry
	}
	if err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	clean, err := parseCheckpoint(b, kind, func(at int, k pointKey, p point, ok bool) {
		if !ok {
			log.Warn("checkpoint entry is damaged and ignored; what it covered is checked again",
				"file", path, "position", at)
			return
		}
		if p.flags&pointRemoved != 0 {
			delete(c.points, k)
		} else {
			c.points[k] = p
		}
	})
	switch {
	case errors.Is(err, ErrNewer):
		return nil, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		log.Warn("checkpoint is damaged and ignored; "+withoutCheckpoint(kind), "file", path, "error", err)
	}
	if !clean { // leave nothing half readable behind
		anew := c.rewrite()
		if anew == nil || transient(anew) && c.size > 0 { // it has its name
			return c, nil
		}
		if err != nil || !transient(anew) {
			return nil, anew
		}
		// No room for a new file. The whole entries of the old one hold, and a
		// torn last one is written over.
		b = b[:len(b)-(len(b)-checkpointHead)%checkpointEntry]
	}
	c.size = int64(len(b))
	if c.file, err = fsys.OpenFile(path, os.O_RDWR); err != nil {
		return nil, fmt.Errorf("open checkpoint: %w", err)
	}
	c.reserve()
	return c, nil
}

// withoutCheckpoint says what follows where a whole file of a kind is lost.
func withoutCheckpoint(kind uint16) string {
	switch kind {
	case 2:
		return "every log then starts at its first segment"
	case 3:
		return "every compacted log is then cleaned from its start"
	case 4:
		return "a newest segment that is missing is then not noticed"
	}
	return "every partition is then checked from its first segment"
}

// reserve keeps room behind the entries, as far as there is any.
func (c *checkpoint) reserve() {
	if c.ready >= c.size+checkpointReserve/2 {
		return
	}
	if to := c.size + checkpointReserve; c.file.Allocate(c.size, to-c.size) == nil {
		c.ready = to
	}
}

// parseCheckpoint calls entry for each entry. clean: nothing was damaged.
func parseCheckpoint(b []byte, kind uint16, entry func(at int, k pointKey, p point, ok bool)) (clean bool, err error) {
	if len(b) < checkpointHead || string(b[:4]) != checkpointMagic ||
		crc32.Checksum(b[:12], castagnoli) != binary.LittleEndian.Uint32(b[12:]) {
		return false, errDamaged
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v > checkpointVersion {
		return false, fmt.Errorf("%w: checkpoint version %d, this binary reads up to %d", ErrNewer, v, checkpointVersion)
	}
	if k := binary.LittleEndian.Uint16(b[6:]); kind != 0 && k != kind {
		return false, fmt.Errorf("%w: checkpoint of kind %d, want %d", errDamaged, k, kind)
	}
	clean = true
	for at := checkpointHead; at < len(b); at += checkpointEntry {
		e := b[at:min(at+checkpointEntry, len(b))]
		if len(e) < checkpointEntry || crc32.Checksum(e[:checkpointEntry-4], castagnoli) != binary.LittleEndian.Uint32(e[checkpointEntry-4:]) {
			clean = false
			entry(at, pointKey{}, point{}, false)
			continue
		}
		entry(at, pointKey{model.TopicID(e[:16]), int32(binary.LittleEndian.Uint32(e[16:]))}, point{
			offset:  int64(binary.LittleEndian.Uint64(e[20:])),
			segBase: int64(binary.LittleEndian.Uint64(e[28:])),
			pos:     int64(binary.LittleEndian.Uint64(e[36:])),
			epoch:   int32(binary.LittleEndian.Uint32(e[44:])),
			flags:   binary.LittleEndian.Uint16(e[48:]),
			first:   binary.LittleEndian.Uint16(e[50:]),
		}, true)
	}
	return clean, nil
}

func encodeCheckpointHead(kind uint16) []byte {
	b := append([]byte(nil), checkpointMagic...)
	b = binary.LittleEndian.AppendUint16(b, checkpointVersion)
	b = binary.LittleEndian.AppendUint16(b, kind)
	b = binary.LittleEndian.AppendUint32(b, 0)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func appendPoint(b []byte, k pointKey, p point) []byte {
	from := len(b)
	b = append(b, k.topic[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(k.partition))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.offset))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.segBase))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.pos))
	b = binary.LittleEndian.AppendUint32(b, uint32(p.epoch))
	b = binary.LittleEndian.AppendUint16(b, p.flags)
	b = binary.LittleEndian.AppendUint16(b, p.first)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

func (c *checkpoint) get(k pointKey) (point, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.points[k]
	return p, ok
}

// put appends entries. They survive SIGKILL when it returns, a power cut after
// sync.
func (c *checkpoint) put(keys []pointKey, points []point) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return c.failed
	}
	if c.file == nil {
		if err := c.writeLocked(false); err != nil {
			return err
		}
	}
	b := make([]byte, 0, len(keys)*checkpointEntry)
	for i, k := range keys {
		b = appendPoint(b, k, points[i])
	}
	if _, err := c.file.WriteAt(b, c.size); err != nil {
		return fmt.Errorf("write checkpoint: %w", err) // the same place is written again next time
	}
	c.size += int64(len(b))
	c.dirty = true
	c.reserve()
	for i, k := range keys {
		if points[i].flags&pointRemoved != 0 {
			delete(c.points, k)
		} else {
			c.points[k] = points[i]
		}
	}
	return nil
}

// sync makes everything put so far durable.
func (c *checkpoint) sync() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return c.failed
	}
	if !c.dirty {
		return nil
	}
	if c.mostlyOld() || c.file == nil {
		switch err := c.writeLocked(true); {
		case !c.dirty:
			return nil
		case !transient(err) || c.file == nil:
			return err
		} // no room for a new file; the old one holds all the same
	}
	if err := c.file.SyncData(); err != nil {
		return c.unsynced(err)
	}
	if c.fresh {
		return c.syncName()
	}
	c.dirty = false
	return nil
}

// mostlyOld: the file is to be written anew. mu is held.
func (c *checkpoint) mostlyOld() bool {
	return c.size > checkpointEntry*(2*int64(len(c.points))+1024)
}

// shrink writes the file anew if most of it is old. Nothing is synced.
func (c *checkpoint) shrink() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil || !c.mostlyOld() {
		return c.failed
	}
	if err := c.writeLocked(false); !transient(err) {
		return err
	}
	return nil // the old one holds all the same
}

func (c *checkpoint) rewrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeLocked(true)
}

// writeLocked writes the live entries to a new file that replaces the old
// one. After an error the old one is in use, or none: then the new one has its name, and is
// written once more when it is needed.
func (c *checkpoint) writeLocked(durable bool) error {
	b := encodeCheckpointHead(c.kind)
	for k, p := range c.points {
		b = appendPoint(b, k, p)
	}
	if err := vfs.Replace(c.fs, c.path, b, durable); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	if c.file != nil { // what is written to it from now on nobody would find
		c.file.Close()
		c.file = nil
	}
	c.size, c.ready = int64(len(b)), 0
	c.dirty, c.fresh = true, true
	if durable {
		if err := c.syncName(); err != nil {
			return err
		}
	}
	f, err := c.fs.OpenFile(c.path, os.O_RDWR)
	if err != nil {
		return fmt.Errorf("open checkpoint %s: %w", filepath.Base(c.path), err)
	}
	c.file = f
	c.reserve()
	return nil
}

// syncName makes the name durable of a file whose content is.
func (c *checkpoint) syncName() error {
	if err := withDescriptor(func() error { return c.fs.SyncDir(filepath.Dir(c.path)) }); err != nil {
		return c.unsynced(err)
	}
	c.dirty, c.fresh = false, false
	return nil
}

// unsynced takes up that a sync has failed, which is final.
func (c *checkpoint) unsynced(cause error) error {
	c.failed = fmt.Errorf("%w: sync %s: %w", ErrStorage, c.path, cause)
	return c.failed
}

func (c *checkpoint) close() error {
	err := c.sync()
	if c.file != nil {
		err = errors.Join(err, c.file.Close())
	}
	return err
}
