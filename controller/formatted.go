package controller

import (
	"errors"
	"io/fs"
	"path/filepath"

	"ringmain/internal/vfs"
)

// Formatted reports whether dir holds a node's metadata, without changing
// anything. Of an interrupted first start it says false: no vote was given and
// nothing was served then.
func Formatted(fsys vfs.FS, dir string) (bool, error) {
	_, err := fsys.Stat(filepath.Join(dir, quorumStateName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
