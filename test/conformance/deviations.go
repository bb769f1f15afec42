package conformance

import "regexp"

// deviation is a difference from Kafka that is meant. docs/deviations.md tells
// users about each.
type deviation struct {
	scenario *regexp.Regexp // of "API/scenario"
	step     *regexp.Regexp // of the step's name
	path     *regexp.Regexp // of the field
	why      string
}

func dev(scenario, step, path, why string) deviation {
	whole := func(p string) *regexp.Regexp { return regexp.MustCompile("^(?:" + p + ")$") }
	return deviation{whole(scenario), whole(step), whole(path), why}
}

var deviations = []deviation{}

// allowed returns the deviation that explains a difference, or -1.
func allowed(scenario, step, path string) int {
	for i, d := range deviations {
		if d.scenario.MatchString(scenario) && d.step.MatchString(step) && d.path.MatchString(path) {
			return i
		}
	}
	return -1
}
