package segment

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// JournalCommit is a commit in a journal, as DumpFile prints it in JSON: one in each
// line, in the order in which they lie in the file. Positions and sizes are in bytes.
type JournalCommit struct {
	File       string         `json:"file"`
	Half       int            `json:"half"`
	Position   int64          `json:"position"`
	Generation uint64         `json:"generation"`
	Sequence   uint64         `json:"sequence"`
	Bytes      int64          `json:"bytes"`
	Entries    []JournalEntry `json:"entries"`
}

// JournalEntry is what one log had appended: where it lies in the .log file, and the
// offsets of its batches; -1 and -1 if it holds none.
type JournalEntry struct {
	TopicID     string `json:"topic_id"`
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	BaseOffset  int64  `json:"segment"`
	Position    int64  `json:"position"`
	Bytes       int    `json:"bytes"`
	FirstOffset int64  `json:"first_offset"`
	LastOffset  int64  `json:"last_offset"`
}

func dumpJournal(w *bufio.Writer, path string, opts DumpOptions) error {
	f, err := vfs.OS{}.OpenFile(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	halves, err := readHalves(f)
	if err != nil {
		return fmt.Errorf("%s: head of a journal: %w", path, err)
	}
	if !opts.JSON {
		fmt.Fprintf(w, "journal with halves of %d bytes\n", halves[0].end-halves[0].at)
	}
	var bad error
	for i, h := range halves {
		for {
			at := h.at
			c, ok, err := h.next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			commit := JournalCommit{File: path, Half: i, Position: at, Generation: c.generation, Sequence: c.sequence, Bytes: int64(len(h.buf))}
			if err := dumpCommit(w, &commit, c.entries, opts); err != nil {
				bad = errors.Join(bad, fmt.Errorf("%s at byte %d: %w", path, at, err))
			}
		}
		if h.torn {
			bad = errors.Join(bad, corrupt(path, h.at, "the commit is not whole"))
		}
		if !opts.JSON {
			fmt.Fprintf(w, "half %d ends at position %d\n", i, h.at)
		}
	}
	return bad
}

func dumpCommit(w *bufio.Writer, c *JournalCommit, entries []entryRead, opts DumpOptions) error {
	for i := range entries {
		e := &entries[i]
		one := JournalEntry{TopicID: e.topic.String(), Topic: e.tp.Topic, Partition: e.tp.Partition, BaseOffset: e.base, Position: e.pos,
			Bytes: len(e.bytes), FirstOffset: -1, LastOffset: -1}
		for rest := e.bytes; len(rest) > 0; {
			b, err := record.First(rest)
			if err != nil {
				break
			}
			if one.FirstOffset < 0 {
				one.FirstOffset = b.BaseOffset()
			}
			one.LastOffset, rest = b.LastOffset(), rest[len(b):]
		}
		c.Entries = append(c.Entries, one)
	}
	if opts.JSON {
		return json.NewEncoder(w).Encode(c)
	}
	fmt.Fprintf(w, "half %d position %d generation %d sequence %d bytes %d entries %d\n", c.Half, c.Position, c.Generation, c.Sequence, c.Bytes, len(c.Entries))
	for i, e := range c.Entries {
		fmt.Fprintf(w, "  topic id %s %s-%d segment %d position %d bytes %d offsets %d-%d\n", e.TopicID, e.Topic, e.Partition, e.BaseOffset, e.Position, e.Bytes, e.FirstOffset, e.LastOffset)
		if !opts.Records {
			continue
		}
		for pos, rest := e.Position, entries[i].bytes; len(rest) > 0; {
			b, err := record.First(rest)
			if err == nil {
				err = dumpBatch(w, pos, b, opts)
			}
			if err != nil {
				return fmt.Errorf("bytes of %s-%d for position %d: %w", e.Topic, e.Partition, pos, err)
			}
			pos, rest = pos+int64(len(b)), rest[len(b):]
		}
	}
	return nil
}
