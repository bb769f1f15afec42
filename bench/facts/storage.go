package facts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Storage is what a path lies on.
type Storage struct {
	Filesystem string `json:"filesystem"`
	Options    string `json:"options"`
	Device     string `json:"device"`
	Model      string `json:"model,omitempty"`      // of the disk, where it has one
	Rotational bool   `json:"rotational,omitempty"` // the kernel says that it turns
	// InMemory: what is written here is on no disk at all, so nothing that was
	// measured says what durability costs.
	InMemory bool `json:"in_memory,omitempty"`
}

// OfPath finds the file system that a path lies on and the device below it.
func OfPath(path string) (Storage, error) {
	full, err := filepath.Abs(path)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return Storage{}, fmt.Errorf("find the file system of %s: %w", path, err)
	}
	s, ok := mountOf(text("/proc/self/mountinfo"), full)
	if !ok {
		return Storage{}, fmt.Errorf("find the file system of %s: no mount holds it", path)
	}
	return s, nil
}

// mountOf finds the mount with the longest mount point above path. Of equals the
// last counts: it was mounted over the others.
func mountOf(mountinfo, path string) (s Storage, found bool) {
	longest, number := -1, ""
	for line := range strings.Lines(mountinfo) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 6 || len(r) < 2 {
			continue
		}
		point := unescape(l[4])
		if point != "/" && path != point && !strings.HasPrefix(path, point+"/") || len(point) < longest {
			continue
		}
		longest, number, found = len(point), l[2], true
		s = Storage{Filesystem: r[0], Device: unescape(r[1]), Options: l[5]}
	}
	s.InMemory = s.Filesystem == "tmpfs" || s.Filesystem == "ramfs"
	if found {
		s.Model, s.Rotational = disk("/sys/dev/block/" + number)
	}
	return s, found
}

// disk reads what the kernel says of a block device. A partition lies in the
// directory of its disk, which has the facts.
func disk(dir string) (model string, rotational bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", false
	}
	for _, d := range []string{real, filepath.Dir(real)} {
		if _, err := os.Stat(filepath.Join(d, "queue")); err == nil {
			return strings.TrimSpace(text(filepath.Join(d, "device", "model"))),
				strings.TrimSpace(text(filepath.Join(d, "queue", "rotational"))) == "1"
		}
	}
	return "", false
}

// unescape undoes how mountinfo writes blanks.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
