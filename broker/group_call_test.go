package broker

import (
	"fmt"
	"slices"
	"testing"
)

// gathered asks for groups of these sizes, and tells what was asked for and answered.
func gathered(names []string, sizes map[string]int) (asked, answered []string) {
	gatherNamed(names, func(i int, give func(string)) {
		asked = append(asked, names[i])
		give(names[i])
	}, func(part string) int { return sizes[part] }, func(i int) string { return fmt.Sprint("refused ", names[i]) }, func(all []string) { answered = all })
	return asked, answered
}

func TestGroupsThatAreNamedOften(t *testing.T) {
	asked, answered := gathered([]string{"a", "b", "a", "c", "a"}, nil)
	if !slices.Equal(asked, []string{"a", "b", "c"}) || !slices.Equal(answered, []string{"a", "b", "a", "c", "a"}) {
		t.Errorf("asked for %q, answered %q", asked, answered)
	}
	if _, answered = gathered(nil, nil); answered == nil {
		t.Error("a request without groups was not answered")
	}
}

func TestAnAnswerOfManyGroupsIsBounded(t *testing.T) {
	sizes := map[string]int{"small": 10, "half": maxAnswerBytes / 2, "huge": 3 * maxAnswerBytes}
	_, answered := gathered([]string{"half", "small", "half", "small"}, sizes)
	if !slices.Equal(answered, []string{"half", "small", "refused half", "small"}) {
		t.Errorf("answered %q", answered)
	}
	// Whoever asks for one group gets it, whatever it is.
	if _, answered = gathered([]string{"huge"}, sizes); !slices.Equal(answered, []string{"huge"}) {
		t.Errorf("answered %q", answered)
	}
	if _, answered = gathered([]string{"huge", "small"}, sizes); !slices.Equal(answered, []string{"huge", "refused small"}) {
		t.Errorf("answered %q", answered)
	}
}
