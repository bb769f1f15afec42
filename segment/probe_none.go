//go:build !(giouring && linux)

package segment

import "errors"

func probeRing(string, bool) (func() (LogIO, error), string, string, error) {
	return nil, "", "", errors.New("this binary was built without io_uring (build tag giouring, Linux)")
}
