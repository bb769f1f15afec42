package perf

import "fmt"

// ComparisonFormat is the version of Comparison as a JSON document.
const ComparisonFormat = 1

// Comparison is what several sides' rounds show against the first side's.
type Comparison struct {
	Format int    `json:"format"`
	Kind   string `json:"kind"` // ComparisonKind
	// Least is the smallest change that is called a difference, as a share.
	Least float64 `json:"least"`
	Sides []Side  `json:"sides"`
	Rows  []Row   `json:"rows"`
}

// ComparisonKind tells this document from a result of one run.
const ComparisonKind = "comparison"

// Row is one figure of all sides.
type Row struct {
	Figure Figure `json:"figure"`
	// Medians are the figure's medians, side by side; absent where no round of
	// the side has it.
	Medians []*float64 `json:"medians"`
	// Against are the judgements of the second side and those behind it against
	// the first.
	Against []Judgement `json:"against"`
}

// Compare compares each of the sides with the first. Rounds of one index must
// have been measured next to each other; sides with unequal numbers of rounds
// are shown and not judged.
func Compare(sides []Side, figures []Figure, least float64) (Comparison, error) {
	if len(sides) < 2 {
		return Comparison{}, fmt.Errorf("%s to compare; there must be two or more", count(len(sides), "side"))
	}
	if !(least >= 0 && least < 1) {
		return Comparison{}, fmt.Errorf("the least change %v must be a share from 0 to below 1", least)
	}
	judged := 0
	for _, f := range figures {
		if f.Judged {
			judged++
		}
	}
	if judged > maxJudged {
		return Comparison{}, fmt.Errorf("%d figures to judge; the promised rate of errors is for %d at most", judged, maxJudged)
	}
	c := Comparison{Format: ComparisonFormat, Kind: ComparisonKind, Least: least, Sides: sides}
	for _, f := range figures {
		if row, any := newRow(f, sides, least); any {
			c.Rows = append(c.Rows, row)
		}
	}
	return c, nil
}

// newRow compares one figure. any is false when no side has it.
func newRow(f Figure, sides []Side, least float64) (row Row, any bool) {
	row.Figure = f
	base := sides[0].values(f.Name)
	for i, s := range sides {
		values := s.values(f.Name)
		var there []float64
		for _, v := range values {
			if v != 0 {
				there = append(there, v)
			}
		}
		var middle *float64
		if len(there) > 0 {
			m := medianOf(there)
			middle, any = &m, true
		}
		row.Medians = append(row.Medians, middle)
		if i > 0 {
			row.Against = append(row.Against, judgeRow(f, base, values, least))
		}
	}
	return row, any
}

func judgeRow(f Figure, base, values []float64, least float64) Judgement {
	if len(base) != len(values) {
		a, b := medianOf(base), medianOf(values)
		j := Judgement{MedianBase: a, MedianOther: b, Chance: 1, Verdict: Unjudged,
			Reason: fmt.Sprintf("%s against %d: they are no pairs", count(len(base), "round"), len(values))}
		if a > 0 && b > 0 {
			j.Ratio = b / a
		}
		return j
	}
	j := Judge(base, values, least)
	if !f.Judged && j.Verdict != Unjudged {
		j.Verdict, j.Reason = Unjudged, "shown for information"
	}
	return j
}

// Different says whether any judged figure of any side differs from the
// first's.
func (c Comparison) Different() bool {
	for _, r := range c.Rows {
		for _, j := range r.Against {
			if j.Verdict == Higher || j.Verdict == Lower {
				return true
			}
		}
	}
	return false
}

// Word is a verdict in the figure's own terms: better or worse.
func (r Row) Word(j Judgement) string {
	switch {
	case j.Verdict != Higher && j.Verdict != Lower:
		return string(j.Verdict)
	case (j.Verdict == Higher) == (r.Figure.Better == MoreIsBetter):
		return "better"
	}
	return "worse"
}
