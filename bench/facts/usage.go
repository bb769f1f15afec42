package facts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Unknown is a number that nobody knows.
const Unknown = -1

// Usage is what processes have cost since they began, and hold now. Every number
// can be Unknown.
type Usage struct {
	CPU             time.Duration
	RSSBytes        int64
	Threads         int64
	ContextSwitches int64
	DiskWritten     int64 // bytes that went, or will go, to a disk
	Syncs           int64
	Appended        int64 // bytes of record batches that a broker wrote
	Requests        int64
}

// Nothing is a Usage of which nothing is known.
func Nothing() Usage {
	return Usage{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown}
}

// Plus is the usage of two sets of processes together. What is unknown of one is
// unknown of both.
func (u Usage) Plus(other Usage) Usage {
	return combine(u, other, func(a, b int64) int64 {
		if a == Unknown || b == Unknown {
			return Unknown
		}
		return a + b
	})
}

// Or fills what is unknown in u from other: another source for the same
// processes.
func (u Usage) Or(other Usage) Usage {
	return combine(u, other, func(a, b int64) int64 {
		if a == Unknown {
			return b
		}
		return a
	})
}

// Since is what was spent between before and u. What is held rather than spent
// (memory, threads) is as in u.
func (u Usage) Since(before Usage) Usage {
	spent := combine(u, before, func(a, b int64) int64 {
		if a == Unknown || b == Unknown || a < b {
			return Unknown // a counter that fell: another process answered
		}
		return a - b
	})
	spent.RSSBytes, spent.Threads = u.RSSBytes, u.Threads
	return spent
}

func combine(a, b Usage, of func(a, b int64) int64) Usage {
	return Usage{
		CPU:             time.Duration(of(int64(a.CPU), int64(b.CPU))),
		RSSBytes:        of(a.RSSBytes, b.RSSBytes),
		Threads:         of(a.Threads, b.Threads),
		ContextSwitches: of(a.ContextSwitches, b.ContextSwitches),
		DiskWritten:     of(a.DiskWritten, b.DiskWritten),
		Syncs:           of(a.Syncs, b.Syncs),
		Appended:        of(a.Appended, b.Appended),
		Requests:        of(a.Requests, b.Requests),
	}
}

// tick is the unit of CPU times in /proc: USER_HZ, 100 wherever Go runs.
const tick = 10 * time.Millisecond

// Process reads the usage of a process on this host.
func Process(pid int) (Usage, error) {
	u := Nothing()
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if errors.Is(err, os.ErrNotExist) {
		return u, fmt.Errorf("no process %d runs on this host", pid)
	}
	if err != nil {
		return u, fmt.Errorf("read the costs of process %d: %w", pid, err)
	}
	if u.CPU, err = cpuTime(string(stat)); err != nil {
		return u, fmt.Errorf("read the costs of process %d: %w", pid, err)
	}
	status := text(filepath.Join(dir, "status"))
	if kb, err := strconv.ParseInt(strings.TrimSuffix(field(status, "VmRSS"), " kB"), 10, 64); err == nil {
		u.RSSBytes = kb << 10
	}
	if n, err := strconv.ParseInt(field(status, "Threads"), 10, 64); err == nil {
		u.Threads = n
	}
	// Only the owner and root may read io; writes that were taken back before
	// they reached the disk (a file deleted in time) never cost it anything.
	io := text(filepath.Join(dir, "io"))
	if n, err := strconv.ParseInt(field(io, "write_bytes"), 10, 64); err == nil {
		cancelled, _ := strconv.ParseInt(field(io, "cancelled_write_bytes"), 10, 64)
		u.DiskWritten = max(n-cancelled, 0)
	}
	u.ContextSwitches = switches(dir)
	return u, nil
}

// cpuTime reads utime and stime of /proc/PID/stat. The name of the command comes
// before, in parentheses, and may hold blanks and parentheses itself.
func cpuTime(stat string) (time.Duration, error) {
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	const user, system = 11, 12 // counted from the state, the first after the name
	if end < 0 || len(fields) <= system {
		return 0, fmt.Errorf("/proc stat %q is not as it should be", stat)
	}
	u, err := strconv.ParseInt(fields[user], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc stat: user time: %w", err)
	}
	s, err := strconv.ParseInt(fields[system], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc stat: system time: %w", err)
	}
	return time.Duration(u+s) * tick, nil
}

// switches adds up the threads: the process's own status has those of its first
// thread only. What threads did that have ended is lost.
func switches(dir string) int64 {
	threads, err := filepath.Glob(filepath.Join(dir, "task", "*", "status"))
	if err != nil || len(threads) == 0 {
		return Unknown
	}
	var sum int64
	for _, path := range threads {
		status := text(path)
		for _, name := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"} {
			n, _ := strconv.ParseInt(field(status, name), 10, 64)
			sum += n
		}
	}
	return sum
}
