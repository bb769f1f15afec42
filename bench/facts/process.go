package facts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Command is the command line of a process on this host.
func Command(pid int) (string, error) {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return "", fmt.Errorf("read the command of process %d: %w", pid, err)
	}
	return string(bytes.TrimSpace(bytes.ReplaceAll(raw, []byte{0}, []byte{' '}))), nil
}

// LogFile is the path of a record log that a broker has open, which tells on
// which disk its records lie; "" if it has none open, or does not say.
func LogFile(pid int) string {
	links, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
	if err != nil {
		return ""
	}
	for _, link := range links {
		path, err := os.Readlink(link)
		if err != nil {
			continue
		}
		// Kafka's logs, and ours, are named by their first offset: 20 digits.
		name, isLog := strings.CutSuffix(filepath.Base(path), ".log")
		if _, err := strconv.ParseUint(name, 10, 64); isLog && err == nil && len(name) == 20 {
			return path
		}
	}
	return ""
}
