package controller

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/hashicorp/raft"

	"ringmain/internal/vfs"
)

// A checkpoint file holds an image and what raft must know to continue after
// it:
//
//	0   magic "RMCKPT\r\n"
//	8   version              uint32
//	12  index                uint64  last entry that the image includes
//	20  term                 uint64  of that entry
//	28  configuration index  uint64  entry that set the configuration
//	36  configuration size   uint32
//	40  configuration: number of servers uint16; for each: suffrage uint8, then
//	    id and address, each a size uint16 and the bytes
//	    header crc           uint32  crc32c of everything before
//	    body                 the image, as metadata.WriteSnapshot writes it
//	    body size            uint64
//	    body crc             uint32  crc32c of the body
//	    trailer crc          uint32  crc32c of the 12 bytes before
//
// Numbers are big-endian. The file is written under another name, synced and
// renamed: a file with this name is whole.
const (
	checkpointSuffix  = ".checkpoint"
	checkpointMagic   = "RMCKPT\r\n"
	checkpointVersion = 1

	checkpointFixed   = 40
	checkpointTrailer = 16

	// checkpointHeaderMax bounds what is read before the header's checksum is
	// known to be right: thousands of servers.
	checkpointHeaderMax = 1 << 20
)

// checkpointName is Kafka's form: the index and the term.
func checkpointName(index, term uint64) string {
	return fmt.Sprintf("%020d-%010d%s", index, term, checkpointSuffix)
}

// parseCheckpointName returns ok only for what checkpointName makes.
func parseCheckpointName(name string) (index, term uint64, ok bool) {
	stem, ok := strings.CutSuffix(name, checkpointSuffix)
	if !ok {
		return 0, 0, false
	}
	a, b, _ := strings.Cut(stem, "-")
	index, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	term, err = strconv.ParseUint(b, 10, 64)
	return index, term, err == nil && checkpointName(index, term) == name
}

func encodeCheckpointHeader(m *raft.SnapshotMeta) []byte {
	conf := encodeServers(m.Configuration)
	b := append([]byte(nil), checkpointMagic...)
	b = binary.BigEndian.AppendUint32(b, checkpointVersion)
	b = binary.BigEndian.AppendUint64(b, m.Index)
	b = binary.BigEndian.AppendUint64(b, m.Term)
	b = binary.BigEndian.AppendUint64(b, m.ConfigurationIndex)
	b = binary.BigEndian.AppendUint32(b, uint32(len(conf)))
	b = append(b, conf...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func encodeServers(c raft.Configuration) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(c.Servers)))
	for _, s := range c.Servers {
		b = append(b, byte(s.Suffrage))
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(s.ID))), s.ID...)
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(s.Address))), s.Address...)
	}
	return b
}

func decodeServers(b []byte) (c raft.Configuration, ok bool) {
	take := func(n int) []byte {
		if n > len(b) {
			b, ok = nil, false
			return make([]byte, n)
		}
		t := b[:n]
		b = b[n:]
		return t
	}
	ok = true
	for range binary.BigEndian.Uint16(take(2)) {
		s := raft.Server{Suffrage: raft.ServerSuffrage(take(1)[0])}
		s.ID = raft.ServerID(take(int(binary.BigEndian.Uint16(take(2)))))
		s.Address = raft.ServerAddress(take(int(binary.BigEndian.Uint16(take(2)))))
		if !ok {
			return c, false
		}
		c.Servers = append(c.Servers, s)
	}
	return c, ok && len(b) == 0
}

// readCheckpointMeta reads header and trailer. The body is verified by
// checkpointBody.
func readCheckpointMeta(f vfs.File, path, name string) (m *raft.SnapshotMeta, bodyAt int64, bodyCRC uint32, err error) {
	size, err := f.Size()
	if err != nil {
		return nil, 0, 0, err
	}
	fixed := make([]byte, checkpointFixed)
	if size < checkpointFixed+4+checkpointTrailer {
		return nil, 0, 0, damaged(path, size, "the file has %d bytes, which is too short", size)
	}
	if _, err := f.ReadAt(fixed, 0); err != nil {
		return nil, 0, 0, fmt.Errorf("read %s: %w", path, err)
	}
	if string(fixed[:8]) != checkpointMagic {
		return nil, 0, 0, damaged(path, 0, "this is not a metadata checkpoint")
	}
	if v := binary.BigEndian.Uint32(fixed[8:]); v > checkpointVersion {
		return nil, 0, 0, fmt.Errorf("%w: %s has version %d, this release reads up to %d", ErrNewer, path, v, checkpointVersion)
	}
	confSize := int64(binary.BigEndian.Uint32(fixed[36:]))
	bodyAt = checkpointFixed + confSize + 4
	if confSize > checkpointHeaderMax || bodyAt+checkpointTrailer > size {
		return nil, 0, 0, damaged(path, 36, "the configuration is said to have %d bytes, the file has %d", confSize, size)
	}
	header := make([]byte, bodyAt)
	if _, err := f.ReadAt(header, 0); err != nil {
		return nil, 0, 0, fmt.Errorf("read %s: %w", path, err)
	}
	conf, ok := decodeServers(header[checkpointFixed : bodyAt-4])
	if crc32.Checksum(header[:bodyAt-4], castagnoli) != binary.BigEndian.Uint32(header[bodyAt-4:]) || !ok {
		return nil, 0, 0, damaged(path, 0, "the checksum of the header is wrong")
	}
	m = &raft.SnapshotMeta{
		Version:            1,
		ID:                 name,
		Index:              binary.BigEndian.Uint64(header[12:]),
		Term:               binary.BigEndian.Uint64(header[20:]),
		ConfigurationIndex: binary.BigEndian.Uint64(header[28:]),
		Configuration:      conf,
		Size:               size - bodyAt - checkpointTrailer,
	}
	if checkpointName(m.Index, m.Term) != name {
		return nil, 0, 0, damaged(path, 12, "the file says that it is the checkpoint at entry %d of term %d", m.Index, m.Term)
	}
	trailer := make([]byte, checkpointTrailer)
	if _, err := f.ReadAt(trailer, size-checkpointTrailer); err != nil {
		return nil, 0, 0, fmt.Errorf("read %s: %w", path, err)
	}
	if crc32.Checksum(trailer[:12], castagnoli) != binary.BigEndian.Uint32(trailer[12:]) ||
		binary.BigEndian.Uint64(trailer) != uint64(m.Size) {
		return nil, 0, 0, damaged(path, size-checkpointTrailer, "the trailer does not fit the file, which may be cut off")
	}
	return m, bodyAt, binary.BigEndian.Uint32(trailer[8:]), nil
}

// checkpointBody reads the body of a checkpoint, and at its end compares the
// checksum.
type checkpointBody struct {
	file vfs.File
	path string
	at   int64
	left int64
	want uint32
	crc  uint32
}

func (r *checkpointBody) Read(b []byte) (int, error) {
	if r.left == 0 {
		if r.crc != r.want {
			return 0, damaged(r.path, r.at, "the checksum of the image that ends here is wrong")
		}
		return 0, io.EOF
	}
	n, err := r.file.ReadAt(b[:min(int64(len(b)), r.left)], r.at)
	r.crc = crc32.Update(r.crc, castagnoli, b[:n])
	r.at += int64(n)
	r.left -= int64(n)
	if n > 0 {
		err = nil // the rest, or the error again, comes with the next call
	}
	return n, err
}

func (r *checkpointBody) Close() error { return r.file.Close() }
