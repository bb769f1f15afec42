package segment

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Every name we put on disk.
const (
	identityName   = "ringmain.properties"
	probeName      = "io-probe.tmp"
	lockName       = ".lock"
	cleanName      = "clean-shutdown"
	bootName       = "boot-id"
	pointsName     = "recovery-point-offset-checkpoint"
	startsName     = "log-start-offset-checkpoint"
	cleanedName    = "cleaner-offset-checkpoint"
	newestName     = "newest-segment-checkpoint"
	metadataName   = "partition.metadata"
	epochsName     = "leader-epoch-checkpoint"
	logSuffix      = ".log"
	indexSuffix    = ".index"
	snapshotSuffix = ".snapshot"
	tmpSuffix      = ".tmp"
	deletedSuffix  = ".deleted"
	damagedSuffix  = ".damaged"
	cleanedSuffix  = ".cleaned" // behind the suffix of what is being written anew
	swapSuffix     = ".swap"
)

// MetadataDirName is the directory of the cluster's metadata in the first log
// directory. It is not this package's, and it is made before the log directory
// is formatted.
const MetadataDirName = "__cluster_metadata"

// offsetName is Kafka's name of a file that begins at an offset: 20 digits.
func offsetName(offset int64, suffix string) string {
	return fmt.Sprintf("%020d%s", offset, suffix)
}

// parseOffsetName is the reverse; ok only for names that offsetName makes.
func parseOffsetName(name, suffix string) (offset int64, ok bool) {
	digits, found := strings.CutSuffix(name, suffix)
	if !found || len(digits) != 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, false
	}
	return n, true
}

func offsetPath(dir string, offset int64, suffix string) string {
	return filepath.Join(dir, offsetName(offset, suffix))
}
