package segment

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// formatVersion is the layout of a log directory as a whole.
const formatVersion = 1

// Ident says to whom a log directory belongs.
type Ident struct {
	ClusterID string // "" adopts what is on disk, or makes one
	NodeID    int32
	// DirectoryID is set by OpenDir: the id of this directory (KIP-858).
	DirectoryID model.TopicID
}

// encodeIdentity makes the content of ringmain.properties.
func encodeIdentity(id Ident) []byte {
	text := fmt.Sprintf("# Identity of a Ringmain data directory. Do not edit.\nformat=%d\ncluster.id=%s\nnode.id=%d\ndirectory.id=%s\n",
		formatVersion, id.ClusterID, id.NodeID, id.DirectoryID)
	return fmt.Appendf([]byte(text), "checksum=%08x\n", crc32.Checksum([]byte(text), castagnoli))
}

func decodeIdentity(path string, b []byte) (Ident, error) {
	damaged := func(what string) (Ident, error) {
		return Ident{}, fmt.Errorf("%w: %s: %s; restore the file from a copy", ErrCorrupt, path, what)
	}
	text, sum, found := strings.Cut(string(b), "checksum=")
	if !found {
		return damaged("the checksum line is missing")
	}
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[k] = v
		}
	}
	if n, err := strconv.Atoi(values["format"]); err == nil && n > formatVersion {
		return Ident{}, fmt.Errorf("%w: %s has format %d, this binary reads up to %d", ErrNewer, path, n, formatVersion)
	}
	if want := fmt.Sprintf("%08x", crc32.Checksum([]byte(text), castagnoli)); strings.TrimSpace(sum) != want {
		return damaged("the checksum is " + strings.TrimSpace(sum) + ", the content has " + want)
	}
	node, err := strconv.ParseInt(values["node.id"], 10, 32)
	if err != nil {
		return damaged("node.id is not a number")
	}
	dirID, err := model.ParseTopicID(values["directory.id"])
	if err != nil {
		return damaged("directory.id: " + err.Error())
	}
	return Ident{ClusterID: values["cluster.id"], NodeID: int32(node), DirectoryID: dirID}, nil
}

// survey looks at a directory without changing it. exists: our identity file
// is there. Anything else than our own leftovers in a directory without one
// is foreign.
func survey(fsys vfs.FS, path string) (exists bool, err error) {
	es, err := fsys.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read data directory: %w", err)
	}
	var foreign []string
	for _, e := range es {
		switch e.Name {
		case identityName:
			return true, nil
		case lockName, identityName + tmpSuffix, probeName, MetadataDirName, "lost+found": // a start that was killed, a fresh volume
		case "meta.properties":
			return false, fmt.Errorf("%w: %s was formatted by Apache Kafka (it has meta.properties); give Ringmain a directory of its own", ErrForeign, path)
		default:
			foreign = append(foreign, e.Name)
		}
	}
	if len(foreign) > 0 {
		return false, fmt.Errorf("%w: %s is not empty (it has %q) and has no %s; give Ringmain an empty directory", ErrForeign, path, foreign[0], identityName)
	}
	return false, nil
}

// adoptIdentity reads or writes the identity of a directory that is locked.
func adoptIdentity(fsys vfs.FS, path string, exists bool, id Ident) (Ident, error) {
	file := filepath.Join(path, identityName)
	if !exists {
		if id.ClusterID == "" {
			id.ClusterID = model.NewClusterID()
		}
		id.DirectoryID = model.NewTopicID()
		if err := vfs.WriteFile(fsys, file, encodeIdentity(id), true); err != nil {
			return Ident{}, fmt.Errorf("format data directory: %w", err)
		}
		return id, nil
	}
	return readIdentity(fsys, path, id)
}
