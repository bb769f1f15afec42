package replay

// Floor is the latency of an echo: what the instrument adds to what it measures.
type Floor struct{ P50Us, P99Us int64 }

const (
	floorPerSecond = 1000
	// topic of the requests that the echo is sent.
	floorTopic = "floor"
)
