package controller

import (
	"path/filepath"

	"ringmain/internal/vfs"
)

// Identity reads whose metadata directory it is, without changing anything.
func Identity(fsys vfs.FS, dir string) (clusterID string, nodeID int32, err error) {
	path := filepath.Join(dir, quorumStateName)
	b, err := vfs.ReadFile(fsys, path)
	if err != nil {
		return "", 0, err
	}
	if len(b) > 0 && b[0] == '{' { // Apache Kafka's; Open has the words
		return "", 0, nil
	}
	q, err := decodeQuorumState(b, path)
	if err != nil {
		return "", 0, err
	}
	return q.clusterID, q.nodeID, nil
}
