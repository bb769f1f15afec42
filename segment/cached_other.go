//go:build !linux

package segment

func cached(int, int64, int64) bool { return true }

func willNeed(int, int64, int64) {}

func readCached(int, []byte, int64) (n int, cold bool) { return 0, false }
