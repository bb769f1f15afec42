//go:build !linux

package pace

import "time"

var origin = time.Now()

// Now is the time since the process began. Stamps of different processes cannot
// be compared here.
func Now() time.Duration { return time.Since(origin) }
