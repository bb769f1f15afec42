//go:build !linux

package node

import "time"

func procStartTime(int) (time.Time, bool) { return time.Time{}, false }
