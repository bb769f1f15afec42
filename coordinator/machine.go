package coordinator

// Machine is the state of one partition. Whoever builds one calls Replay for every
// record of the log, then Loaded, and from then on the methods of its kind and
// Advance, all on one goroutine at a time.
type Machine interface {
	// Replay applies one record of the log while loading. timestampMs is the
	// record's. The bytes are not kept. An error means that the log cannot be
	// trusted; the partition is not served then.
	Replay(offset, timestampMs int64, key, value []byte) error
	// Loaded says that the log is at its end: deadlines begin.
	Loaded(s *Step)
	// NextDeadline is when Advance is to be called, in Step.NowMs; ok is false when
	// nothing is due ever.
	NextDeadline() (atMs int64, ok bool)
	// Advance does everything that is due at s.NowMs.
	Advance(s *Step)
	// Unload gives err to everybody who is parked in the machine, which is not used
	// any more.
	Unload(err error)
}
