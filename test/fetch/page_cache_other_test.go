//go:build !linux

package fetch

import "testing"

func dropCache(t testing.TB, _ string) { t.Skip("the page cache can be dropped on Linux only") }
