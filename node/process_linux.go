package node

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// procStartTime reads when a process was started, to the clock tick (10 ms).
func procStartTime(pid int) (time.Time, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return time.Time{}, false
	}
	// The second field is the name in parentheses, which may hold anything;
	// starttime is the 22nd.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return time.Time{}, false
	}
	ticks, err := strconv.ParseInt(string(fields[19]), 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return time.Time{}, false
	}
	const ticksPerSecond = 100 // USER_HZ is part of the ABI
	age := time.Duration(now.Nano()) - time.Duration(ticks)*(time.Second/ticksPerSecond)
	return time.Now().Add(-age), true
}
