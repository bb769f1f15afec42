package audit

// AckedEnd is one more than the largest offset that was acknowledged in a
// partition; 0 if none was, or if the account does not keep offsets.
func (b *Book) AckedEnd(partition int32) (end int64) {
	for producer := range b.cfg.Producers {
		s := b.streams[producer*b.cfg.Partitions+int(partition)].Load()
		if s == nil {
			continue
		}
		s.mu.Lock()
		for _, x := range s.acked.list {
			if x.shift != anywhere {
				end = max(end, int64(x.to)+x.shift)
			}
		}
		s.mu.Unlock()
	}
	return end
}
