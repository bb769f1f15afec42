package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU times in /proc: USER_HZ, 100 on every Linux port Go has.
const clockTick = 10 * time.Millisecond

// RSS returns the resident memory of the process in bytes. Only on Linux.
func (b *Broker) RSS() (int64, error) {
	kib, err := b.status("VmRSS:")
	return kib << 10, err
}

// PeakRSS returns the largest resident memory the process has had, in bytes.
func (b *Broker) PeakRSS() (int64, error) {
	kib, err := b.status("VmHWM:")
	return kib << 10, err
}

// ResetPeak makes PeakRSS start again from the present resident memory.
func (b *Broker) ResetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", b.PID()), []byte("5"), 0)
}

func (b *Broker) status(key string) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.PID()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == key {
			return strconv.ParseInt(f[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", b.PID(), key)
}

// CPU returns the user and system time that the process has used. Only on Linux.
func (b *Broker) CPU() (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.PID()))
	if err != nil {
		return 0, err
	}
	// The command name may hold spaces; fields are counted from behind its bracket.
	_, rest, ok := strings.Cut(string(data), ") ")
	f := strings.Fields(rest)
	if !ok || len(f) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: not understood: %q", b.PID(), data)
	}
	user, err := strconv.ParseInt(f[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * clockTick, err
}
