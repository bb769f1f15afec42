package segment

// backends lists what is compiled in; the ring's are added by its own file.
var backends = []backend{{"pwritev", NewPwritevIO}}

func eachBackend(run func(b backend)) {
	for _, b := range backends {
		run(b)
	}
}
