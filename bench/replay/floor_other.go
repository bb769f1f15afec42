//go:build !linux

package replay

import (
	"context"
	"errors"
	"time"
)

// MeasureFloor says that there is no such engine here.
func MeasureFloor(context.Context, time.Duration) (Floor, error) {
	return Floor{}, errors.New("engine replay needs Linux")
}
