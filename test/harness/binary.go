package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
)

var build struct {
	once sync.Once
	path string
	err  error
}

// Binary returns the path of the broker's binary, built from this module unless
// RINGMAIN names one. It is built once per process; the packages of one `go test`
// run share the file, and the go command does nothing when it is up to date.
func Binary() (string, error) {
	build.once.Do(func() {
		if build.path = os.Getenv("RINGMAIN"); build.path != "" {
			build.path, build.err = filepath.Abs(build.path)
			return
		}
		build.path, build.err = compile()
	})
	return build.path, build.err
}

// Root returns the directory of this module's go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && len(mod) > 16 && string(mod[:16]) == "module ringmain\n" {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod of module ringmain above the working directory")
		}
		dir = up
	}
}

func compile() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "bin", "test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Test packages run as parallel processes: one builds, the others wait for it.
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	bin := filepath.Join(dir, "ringmain")
	// The ring's library links to a runtime symbol by name, which newer linkers
	// refuse unless told; where that build fails the portable one still does.
	variants := [][]string{{}}
	if runtime.GOOS == "linux" {
		variants = [][]string{{"-tags", "giouring", "-ldflags=-checklinkname=0"}, {}}
	}
	var failures []error
	for _, flags := range variants {
		args := append([]string{"build", "-o", bin}, flags...)
		cmd := exec.Command("go", append(args, "./cmd/ringmain")...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err == nil {
			return bin, nil
		}
		failures = append(failures, fmt.Errorf("go %v: %w\n%s", cmd.Args[1:], err, out))
	}
	return "", errors.Join(failures...)
}
