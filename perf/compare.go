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

// Compare compares each of the sides with the first. Only rounds that were
// measured next to each other are judged; the others count for the medians.
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
	for i, s := range sides {
		var middle *float64
		if values := s.values(f.Name); len(values) > 0 {
			m := medianOf(values)
			middle, any = &m, true
		}
		row.Medians = append(row.Medians, middle)
		if i > 0 {
			row.Against = append(row.Against, judgeRow(f, sides[0], s, row.Medians[0], middle, least))
		}
	}
	return row, any
}

func judgeRow(f Figure, base, other Side, baseMedian, otherMedian *float64, least float64) Judgement {
	a, b := neighbours(base.Rounds, other.Rounds, f.Name)
	j := Judge(a, b, least)
	if j.Ratio == 0 && baseMedian != nil && otherMedian != nil && *baseMedian > 0 {
		// Rounds that are no neighbours still have a ratio, and no more than that.
		j.Ratio = *otherMedian / *baseMedian
	}
	switch {
	case j.Verdict == Unjudged && (len(base.Rounds) > 1 || len(other.Rounds) > 1):
		j.Reason += "; pairs are rounds of both sides next to each other in time"
	case j.Verdict != Unjudged && !f.Judged:
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
