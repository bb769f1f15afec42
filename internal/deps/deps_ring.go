//go:build giouring

package deps

import _ "github.com/pawelgaczynski/giouring"
