package segment

import "os"

// backends lists what is compiled in; the ring's are added by its own file.
var backends = []backend{{"pwritev", NewPwritevIO}}

// eachBackend runs a test on every backend, in the run that names none.
func eachBackend(run func(b backend)) {
	if os.Getenv("RINGMAIN_TEST_IO") != "" {
		return
	}
	for _, b := range backends {
		run(b)
	}
}

// testIO is the backend of tests that are not about backends: the first one, or
// that named by RINGMAIN_TEST_IO. make test runs them on each.
func testIO() LogIO {
	for _, b := range backends {
		if b.name == os.Getenv("RINGMAIN_TEST_IO") {
			return b.make()
		}
	}
	return backends[0].make()
}
