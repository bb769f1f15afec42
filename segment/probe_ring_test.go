//go:build giouring && linux

package segment

import (
	"testing"

	"golang.org/x/sys/unix"
)

// What file systems answer to writes that must not wait, and what follows from it.
func TestTakesWithoutWaiting(t *testing.T) {
	const size = 4096
	for name, fs := range map[string]struct {
		answer func(k, plain int) (int, error) // to the k-th such write, after so many plain ones
		want   bool
	}{
		"always":                      {func(_, _ int) (int, error) { return size, nil }, true},
		"never can (ext4, tmpfs)":     {func(_, _ int) (int, error) { return 0, unix.EOPNOTSUPP }, false},
		"never does (btrfs)":          {func(_, _ int) (int, error) { return 0, unix.EAGAIN }, false},
		"a time to change (XFS)":      {func(_, plain int) (int, error) { return again(plain == 0) }, true},
		"every second one":            {func(k, _ int) (int, error) { return again(k%2 == 0) }, true},
		"two of three":                {func(k, _ int) (int, error) { return again(k%3 != 0) }, false},
		"as often as is tried":        {func(k, _ int) (int, error) { return again(k < probeTries-probeWrites) }, true},
		"once more than that":         {func(k, _ int) (int, error) { return again(k <= probeTries-probeWrites) }, false},
		"short each time":             {func(_, _ int) (int, error) { return size / 2, nil }, false},
		"an error that says nothing":  {func(_, _ int) (int, error) { return 0, unix.EIO }, false},
		"an error behind some writes": {func(k, _ int) (int, error) { return size, map[bool]error{true: unix.ENOSPC}[k == 5] }, false},
	} {
		k, plain := -1, 0
		why, ok := takesWithoutWaiting(func(at int64, flags int) (int, error) {
			if at < 0 || at%size != 0 || at >= probeTries*size {
				t.Errorf("%s: a write at %d", name, at)
			}
			if flags&unix.RWF_NOWAIT == 0 {
				plain++
				return size, nil
			}
			k++
			return fs.answer(k, plain)
		}, size)
		if ok != fs.want || why == "" {
			t.Errorf("%s: %v because %q", name, ok, why)
		}
	}
}

func again(yes bool) (int, error) {
	if yes {
		return 0, unix.EAGAIN
	}
	return 4096, nil
}
