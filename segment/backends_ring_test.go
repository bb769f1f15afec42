//go:build giouring && linux

package segment

import "ringmain/internal/uring"

func init() {
	ring, err := uring.New(1, 0)
	if err != nil {
		return // not allowed here: ProbeIO says so, and the tests run without
	}
	ring.Close()
	backends = append(backends,
		backend{"uring", func() LogIO { return NewRingIO(true) }},
		backend{"hybrid", func() LogIO { return NewRingIO(false) }},
	)
}
