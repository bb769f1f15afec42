package segment

import (
	"fmt"
	"path/filepath"

	"ringmain/internal/vfs"
)

// Inspect looks at a log directory and changes nothing, not even by locking
// it. found: it is formatted, and have is its identity. want.ClusterID "" is
// satisfied by any. The errors are those of OpenDir, ErrLocked excepted.
func Inspect(fsys vfs.FS, path string, want Ident) (have Ident, found bool, err error) {
	if found, err = survey(fsys, path); err != nil || !found {
		return Ident{}, false, err
	}
	if have, err = readIdentity(fsys, path, want); err != nil {
		return Ident{}, false, err
	}
	return have, true, nil
}

// readIdentity reads the identity of a formatted directory and compares it.
func readIdentity(fsys vfs.FS, path string, want Ident) (Ident, error) {
	file := filepath.Join(path, identityName)
	b, err := vfs.ReadFile(fsys, file)
	if err != nil {
		return Ident{}, fmt.Errorf("read identity: %w", err)
	}
	have, err := decodeIdentity(file, b)
	if err != nil {
		return Ident{}, err
	}
	if want.ClusterID != "" && want.ClusterID != have.ClusterID {
		return Ident{}, fmt.Errorf("%w: %s is of cluster %s, this node is of cluster %s", ErrIdentity, path, have.ClusterID, want.ClusterID)
	}
	if want.NodeID != have.NodeID {
		return Ident{}, fmt.Errorf("%w: %s is of node %d, this node is %d (node.id)", ErrIdentity, path, have.NodeID, want.NodeID)
	}
	return have, nil
}
