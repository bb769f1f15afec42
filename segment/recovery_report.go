package segment

import "time"

// RecoveryReport says what OpenLog found and did.
type RecoveryReport struct {
	Segments     int
	Duration     time.Duration
	HeaderBytes  int64 // walked by header to rebuild indexes, producers, epochs
	CheckedBytes int64 // read and checked: what lay after the recovery point

	// A tail that was no continuation of the log was cut: the file, the
	// position from which on, how many bytes, and why. CutFile is "" if
	// nothing was.
	CutFile   string
	CutAt     int64
	CutBytes  int64
	CutReason string
	// SetAside are segments behind the cut, renamed to *.damaged.
	SetAside []string
	// Records that were on disk once and are gone: offsets from LostFrom up
	// to but not including LostTo. The log goes on at LostTo.
	LostFrom, LostTo int64

	IndexRebuilt    bool // of the active segment: it was there and not believed
	EpochsRebuilt   bool
	MetadataRebuilt bool
}

// Damaged reports whether something synced was found missing or changed.
func (r RecoveryReport) Damaged() bool { return r.LostTo > r.LostFrom }
