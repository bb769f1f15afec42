package controller

import (
	"context"
	"fmt"
	"math"
	"sync"

	"ringmain/metadata"
)

// producerIDBlock is how many producer ids one record takes, as in Kafka. What
// is left of a block when the broker stops is lost, never handed out again.
const producerIDBlock = 1000

// producerIDs is the block that this broker hands out of.
type producerIDs struct {
	mu        sync.Mutex
	next, end int64
}

// AllocateProducerID returns a producer id that no producer of this cluster had
// before. One call in a thousand waits for a change of the metadata.
func (c *Controller) AllocateProducerID() (int64, error) {
	p := &c.producers
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == p.end {
		var first int64
		_, err := c.Change(context.Background(), func(img *metadata.Image) ([]metadata.Record, error) {
			first = img.NextProducerID()
			if first > math.MaxInt64-producerIDBlock {
				return nil, fmt.Errorf("all producer ids have been handed out")
			}
			return []metadata.Record{metadata.ProducerIDsRecord{Next: first + producerIDBlock}}, nil
		})
		if err != nil {
			return 0, fmt.Errorf("allocate producer ids: %w", err)
		}
		p.next, p.end = first, first+producerIDBlock
	}
	p.next++
	return p.next - 1, nil
}
