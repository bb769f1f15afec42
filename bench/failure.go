package bench

import (
	"fmt"
	"strings"
)

// BrokenLoad is the error of a load that ended before its time: brokers that were
// reached went away, or answered what is no protocol.
type BrokenLoad struct{ Err error }

func (b *BrokenLoad) Error() string { return "the load ended before its time: " + b.Err.Error() }
func (b *BrokenLoad) Unwrap() error { return b.Err }

// LeftBehind is the error of topics that were made and could not be deleted.
type LeftBehind struct {
	Topics []string
	Err    error
}

func (l *LeftBehind) Error() string {
	return fmt.Sprintf("topics that were made are left behind, delete them yourself: %s (%v)", strings.Join(l.Topics, " "), l.Err)
}
func (l *LeftBehind) Unwrap() error { return l.Err }
