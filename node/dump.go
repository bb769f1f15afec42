package node

import (
	"fmt"
	"io"
	"path/filepath"

	"ringmain/internal/vfs"
)

// CanDump reports whether a file of this name is one that DumpFile prints.
func CanDump(path string) bool { return filepath.Base(path) == rosterName }

// DumpFile prints the list of log directories as text. It only reads, and a
// broker may be using the file. Damage is the error.
func DumpFile(w io.Writer, path string) error {
	dirs, err := readRoster(vfs.OS{}, path)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if _, err := fmt.Fprintf(w, "log directory %s at %s\n", d.id, d.path); err != nil {
			return err
		}
	}
	return nil
}
