package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"ringmain/model"
)

// straySuffix ends the name of a partition's directory that belongs to no topic
// there is. Kafka uses the same.
const straySuffix = "-stray"

// SetAside renames the directory of a partition that is not open to a name that
// is no partition's, and returns the new path ("" if there is no such
// directory). Nothing is deleted: whether the metadata or the directory is the
// older one cannot be told from here.
func (d *Dir) SetAside(tp model.TopicPartition) (string, error) {
	d.mu.Lock()
	open := d.logs[tp] != nil
	d.mu.Unlock()
	if open {
		return "", fmt.Errorf("set %s aside: the log is open", tp)
	}
	to := filepath.Join(d.path, fmt.Sprintf("%s.%s%s", tp, model.NewTopicID(), straySuffix))
	err := d.fs.Rename(filepath.Join(d.path, tp.String()), to)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("set partition aside: %w", err)
	}
	return to, d.fs.SyncDir(d.path)
}
