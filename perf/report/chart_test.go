package report

import (
	"regexp"
	"strconv"
	"testing"
)

func TestCurvesStayInTheDrawing(t *testing.T) {
	for _, c := range charts([]Run{sampleRun("a", 1), sampleRun("b", 30)}) {
		for _, l := range c.Lines {
			for _, pair := range regexp.MustCompile(`[ML]([-0-9.]+) ([-0-9.]+)`).FindAllStringSubmatch(l.Path, -1) {
				x, _ := strconv.ParseFloat(pair[1], 64)
				y, _ := strconv.ParseFloat(pair[2], 64)
				if x < c.Left || x > c.Right || y < c.Top || y > c.Bottom {
					t.Errorf("%s, %s: %v, %v is outside", c.Title, l.Name, x, y)
				}
			}
		}
	}
}

func TestAGapBreaksTheLine(t *testing.T) {
	a := axes{x: linear(4), y: linear(4), value: number, xValue: number}
	c := draw(a, []curve{{name: "k", points: []point{{x: 0, y: 1}, {x: 1, y: gap}, {x: 2, y: 1}, {x: 3, y: 2}}}})
	if got := regexp.MustCompile(`[0-9. ]+`).ReplaceAllString(c.Lines[0].Path, ""); got != "MML" {
		t.Errorf("pen strokes %q", got)
	}
}

func TestWholeRunsInWordsForThoseWhoDoNotSee(t *testing.T) {
	c, any := throughputOverTime([]Run{{Name: "a", Seconds: []Second{{BytesPerSecond: 1e6}, {At: 1, BytesPerSecond: 3e6}}}})
	if !any || c.Description != "throughput from 1 MB/s to 3 MB/s" {
		t.Errorf("%q", c.Description)
	}
}
