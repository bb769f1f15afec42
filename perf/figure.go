package perf

// Better says which way a figure is better.
type Better string

const (
	MoreIsBetter Better = "more"
	LessIsBetter Better = "less"
)

// Figure is one number that a round yields.
type Figure struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better Better `json:"better"`
	// Judged figures get a verdict; the others are shown only. Each judged
	// figure is one more chance to be wrong, so there are maxJudged at most.
	Judged bool `json:"judged"`
}

// Reading is what one round yielded: values by the names of their figures. A
// figure that was not measured is absent.
type Reading map[string]float64

// Side is one broker or build in a comparison, with its rounds in order of
// time.
type Side struct {
	Name   string    `json:"name"`
	Rounds []Reading `json:"rounds"`
}

// values are the values of one figure, one for each round; 0 where it is
// absent.
func (s Side) values(figure string) []float64 {
	out := make([]float64, len(s.Rounds))
	for i, r := range s.Rounds {
		out[i] = r[figure]
	}
	return out
}
