package disk

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// volume is an ext4 file system of its own.
type volume struct {
	t    *testing.T
	path string
}

// newVolume mounts an empty file system of so many MiB; the test is skipped where that
// cannot be done.
func newVolume(t *testing.T, mib int) *volume {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a file system needs root")
	}
	for _, tool := range []string{"mkfs.ext4", "mount", "umount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := t.TempDir()
	image, path := filepath.Join(dir, "image"), filepath.Join(dir, "volume")
	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(int64(mib) << 20); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if out, err := exec.Command("mkfs.ext4", "-q", "-m", "0", image).CombinedOutput(); err != nil {
		t.Skipf("mkfs.ext4: %v: %s", err, out)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, path).CombinedOutput(); err != nil {
		t.Skipf("no loop device can be mounted here: %s", strings.TrimSpace(string(out)))
	}
	v := &volume{t, path}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", path).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
			_ = exec.Command("umount", "-l", path).Run()
		}
	})
	return v
}

func (v *volume) run(name string, args ...string) {
	v.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		v.t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// dir is a directory on the volume.
func (v *volume) dir(name string) string { return filepath.Join(v.path, name) }

// full takes all room that is left, and gives it back when free is called.
func (v *volume) full() (free func()) {
	v.t.Helper()
	filler := v.dir("filler")
	f, err := os.Create(filler)
	if err != nil {
		v.t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for size := len(block); size >= 512; {
		if n, err := f.Write(block[:size]); err != nil || n < size {
			size /= 2
		}
	}
	f.Close()
	return func() {
		if err := os.Remove(filler); err != nil {
			v.t.Error(err)
		}
	}
}

// readOnly makes the volume one that cannot be written to.
func (v *volume) readOnly() {
	v.t.Helper()
	// A file that is open for writing keeps the kernel from doing it, as on a disk whose
	// errors make ext4 do it by itself; that is what emergency_ro is for.
	if err := exec.Command("mount", "-o", "remount,ro", v.path).Run(); err == nil {
		return
	}
	source, err := exec.Command("findmnt", "-n", "-o", "SOURCE", v.path).Output()
	if err != nil {
		v.t.Skipf("findmnt: %v", err)
	}
	device := filepath.Base(strings.TrimSpace(string(source)))
	trigger := filepath.Join("/sys/fs/ext4", device, "trigger_fs_error")
	v.run("mount", "-o", "remount,errors=remount-ro", v.path)
	if err := os.WriteFile(trigger, []byte("test\n"), 0o200); err != nil {
		v.t.Skipf("this kernel cannot be told to make a file system read-only: %v", err)
	}
}

// freeze hangs everything that writes to the volume until thaw is called, or a minute
// is over.
func (v *volume) freeze() (thaw func()) {
	v.t.Helper()
	if _, err := exec.LookPath("fsfreeze"); err != nil {
		v.t.Skip("fsfreeze is not installed")
	}
	v.run("fsfreeze", "--freeze", v.path)
	var once sync.Once
	thaw = func() {
		once.Do(func() {
			if out, err := exec.Command("fsfreeze", "--unfreeze", v.path).CombinedOutput(); err != nil {
				v.t.Errorf("fsfreeze --unfreeze: %v: %s", err, out)
			}
		})
	}
	watchdog := time.AfterFunc(time.Minute, thaw)
	v.t.Cleanup(func() { watchdog.Stop(); thaw() })
	return thaw
}
