//go:build !linux

package replay

import (
	"errors"

	"ringmain/bench/load"
)

// New says that there is no such engine here.
func New(*load.Env) (load.Engine, error) {
	return nil, errors.New("engine replay needs Linux; use engine franz")
}
