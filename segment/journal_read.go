package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"ringmain/internal/vfs"
	"ringmain/model"
)

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
	torn       bool   // at the end is the head of the next commit, which is not whole
}

// readHalves reads the head of a journal and gives its two halves. One whose head is not
// as it was written, or that is shorter than it says, is errDamaged.
func readHalves(f vfs.File) (halves [2]*halfReader, err error) {
	size, err := f.Size()
	if err != nil {
		return halves, err
	}
	if size < journalBlock {
		return halves, errDamaged
	}
	head := make([]byte, journalBlock)
	if _, err := f.ReadAt(head, 0); err != nil {
		return halves, err
	}
	half, err := readJournalHead(head)
	if err != nil {
		return halves, err
	}
	if half < journalBlock || size < journalBlock+2*half {
		return halves, errDamaged
	}
	return [2]*halfReader{
		{file: f, at: journalBlock, end: journalBlock + half},
		{file: f, at: journalBlock + half, end: journalBlock + 2*half},
	}, nil
}

// hasJournalHead reports whether anything was written where a journal's head is, which is done
// last of all when one is made.
func hasJournalHead(f vfs.File) bool {
	head := make([]byte, journalBlock)
	n, err := f.ReadAt(head, 0)
	return err != nil && !errors.Is(err, io.EOF) || len(bytes.TrimLeft(head[:n], "\x00")) > 0
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
	generation, sequence := binary.LittleEndian.Uint64(head[8:]), binary.LittleEndian.Uint64(head[16:])
	if sequence != h.sequence || h.sequence > 0 && generation != h.generation {
		return c, false, nil
	}
	if int64(cap(h.buf)) < length {
		h.buf = make([]byte, length)
	}
	h.buf = h.buf[:length]
	if _, err := h.file.ReadAt(h.buf, h.at); err != nil {
		return c, false, err
	}
	if c, ok = readCommit(h.buf); !ok || c.sequence != sequence || c.generation != generation {
		h.torn = true
		return c, false, nil
	}
	h.generation = c.generation
	h.sequence++
	h.at += (length + journalBlock - 1) / journalBlock * journalBlock
	return c, true, nil
}

// rewind begins anew.
func (h *halfReader) rewind(at int64) { h.at, h.sequence, h.generation, h.torn = at, 0, 0, false }

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
