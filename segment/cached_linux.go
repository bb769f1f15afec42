package segment

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// noCachestat: the kernel is older than 6.5, or forbids the call.
var noCachestat atomic.Bool

// probeStep is how far apart the pages are that older kernels are asked for:
// half of the kernel's usual readahead.
const probeStep = 64 << 10

// cached asks the page cache. One cachestat answers for the whole range; the
// fallback tries one byte of every 64 KiB with RWF_NOWAIT.
func cached(fd int, off, n int64) bool {
	const page = 4096
	if !noCachestat.Load() {
		var st unix.Cachestat_t
		r := unix.CachestatRange{Off: uint64(off), Len: uint64(n)}
		if err := unix.Cachestat(uint(fd), &r, &st, 0); err == nil {
			pages := uint64((off+n-1)/page - off/page + 1)
			return st.Cache >= pages
		}
		noCachestat.Store(true)
	}
	var b [1]byte
	iov := [][]byte{b[:]}
	for at := off; ; at += probeStep {
		last := at >= off+n-1
		if last {
			at = off + n - 1
		}
		k, err := unix.Preadv2(fd, iov, at, unix.RWF_NOWAIT)
		if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
			return true
		}
		if err != nil || k == 0 {
			return false
		}
		if last {
			return true
		}
	}
}

func willNeed(fd int, off, n int64) {
	if fd >= 0 {
		unix.Fadvise(fd, off, n, unix.FADV_WILLNEED)
	}
}

// noNowait: the file system cannot say whether a read would wait.
var noNowait atomic.Bool

// readCached fills p from the page cache. cold: it had not all of it, and p is
// to be read in another way.
func readCached(fd int, p []byte, off int64) (n int, cold bool) {
	if noNowait.Load() {
		return 0, false
	}
	n, err := unix.Preadv2(fd, [][]byte{p}, off, unix.RWF_NOWAIT)
	switch err {
	case nil:
		return n, n < len(p)
	case unix.EAGAIN:
		return 0, true
	case unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL:
		noNowait.Store(true)
	}
	return 0, false
}
