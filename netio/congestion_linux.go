package netio

import "golang.org/x/sys/unix"

// unpaced is the congestion control for connections that do not leave the host: in
// every kernel, open to everybody, and without pacing. Where the system's choice is
// one that paces (BBR), every slice of a large answer would wait for a timer for
// the sake of a link that is not there (perf/0011-connections-within-the-host.md).
const unpaced = "reno"

// dontPace is best effort: a connection that keeps the system's choice is slower,
// nothing else.
func dontPace(fd int) {
	_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, unpaced)
}
