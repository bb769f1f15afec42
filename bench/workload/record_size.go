package workload

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Forms of SizeDist.
const (
	fixedSize   = "fixed"
	uniformSize = "uniform"
	normalSize  = "normal"
	listedSize  = "list"
)

// SizeDist is how long record values are. The zero SizeDist is empty values.
type SizeDist struct {
	Form           string // fixed, uniform, normal, list
	Low, High      int    // the shortest and the longest
	Mid, Deviation float64
	Listed         []SizeShare
}

// SizeShare is one size of a list, and how many times as often as a size of
// weight 1 it comes.
type SizeShare struct {
	Bytes  int
	Weight float64
}

// Fixed is values of one size.
func Fixed(n int) SizeDist { return SizeDist{Form: fixedSize, Low: n, High: n} }

// ParseSizeDist reads a size as in "1KiB", or one of
//
//	uniform:LOW:HIGH
//	normal:MEAN:DEVIATION[:LOW:HIGH]    cut to four deviations if not said
//	list:SIZE=WEIGHT,SIZE=WEIGHT,...
func ParseSizeDist(text string) (SizeDist, error) {
	form, rest, found := strings.Cut(strings.TrimSpace(text), ":")
	if !found {
		n, err := ParseBytes(text)
		if err != nil {
			return SizeDist{}, fmt.Errorf("record size: %w; other forms are uniform:LOW:HIGH, normal:MEAN:DEVIATION[:LOW:HIGH] and list:SIZE=WEIGHT[,SIZE=WEIGHT]", err)
		}
		return Fixed(int(n)), nil
	}
	d, err := parseSizes(form, rest)
	if err != nil {
		return SizeDist{}, fmt.Errorf("record size %q: %w", text, err)
	}
	return d, nil
}

func parseSizes(form, rest string) (SizeDist, error) {
	if form == listedSize {
		return parseListed(rest)
	}
	var n []int
	for _, part := range strings.Split(rest, ":") {
		v, err := ParseBytes(part)
		if err != nil {
			return SizeDist{}, err
		}
		n = append(n, int(v))
	}
	d := SizeDist{Form: form}
	switch {
	case form == uniformSize && len(n) == 2:
		d.Low, d.High = n[0], n[1]
	case form == normalSize && (len(n) == 2 || len(n) == 4):
		d.Mid, d.Deviation = float64(n[0]), float64(n[1])
		d.Low, d.High = max(n[0]-4*n[1], 0), n[0]+4*n[1]
		if len(n) == 4 {
			d.Low, d.High = n[2], n[3]
		}
	default:
		return SizeDist{}, errors.New("the forms are SIZE, uniform:LOW:HIGH, normal:MEAN:DEVIATION[:LOW:HIGH] and list:SIZE=WEIGHT[,SIZE=WEIGHT]")
	}
	if d.Low > d.High {
		return SizeDist{}, fmt.Errorf("the low bound %d is above the high bound %d", d.Low, d.High)
	}
	if form == normalSize && (d.Mid < float64(d.Low) || d.Mid > float64(d.High)) {
		// Drawing again until a value fits could go on for ever.
		return SizeDist{}, fmt.Errorf("the mean %v is not between the bounds %d and %d", d.Mid, d.Low, d.High)
	}
	return d, nil
}

func parseListed(rest string) (SizeDist, error) {
	d := SizeDist{Form: listedSize, Low: math.MaxInt}
	for _, item := range strings.Split(rest, ",") {
		bytes, weight, found := strings.Cut(item, "=")
		n, err := ParseBytes(bytes)
		if err != nil {
			return SizeDist{}, err
		}
		share := SizeShare{Bytes: int(n), Weight: 1}
		if found {
			share.Weight, err = strconv.ParseFloat(weight, 64)
			if err != nil || !(share.Weight > 0) || math.IsInf(share.Weight, 0) {
				return SizeDist{}, fmt.Errorf("the weight %q of %q is not a number above 0", weight, bytes)
			}
		}
		d.Listed = append(d.Listed, share)
		d.Low, d.High = min(d.Low, share.Bytes), max(d.High, share.Bytes)
	}
	return d, nil
}

// Next draws a size.
func (d SizeDist) Next(r *rand.Rand) int {
	switch d.Form {
	case uniformSize:
		return d.Low + r.IntN(d.High-d.Low+1)
	case normalSize:
		// Cut by drawing again, not by moving to the bound: that would pile
		// values up there. A mean within the bounds is hit before long.
		for range 1000 {
			if n := int(math.Round(d.Mid + d.Deviation*r.NormFloat64())); n >= d.Low && n <= d.High {
				return n
			}
		}
		return int(d.Mid)
	case listedSize:
		at := r.Float64() * d.weight()
		for _, s := range d.Listed {
			if at -= s.Weight; at < 0 {
				return s.Bytes
			}
		}
		return d.Listed[len(d.Listed)-1].Bytes
	}
	return d.Low
}

func (d SizeDist) weight() (sum float64) {
	for _, s := range d.Listed {
		sum += s.Weight
	}
	return sum
}

// Mean is the mean size. For a normal distribution that is cut on one side more
// than on the other it is the mean of what is not cut.
func (d SizeDist) Mean() float64 {
	switch d.Form {
	case listedSize:
		var sum float64
		for _, s := range d.Listed {
			sum += s.Weight * float64(s.Bytes)
		}
		return sum / d.weight()
	case normalSize:
		return d.Mid
	}
	return (float64(d.Low) + float64(d.High)) / 2
}

// Max is the longest size.
func (d SizeDist) Max() int { return d.High }

// Min is the shortest size.
func (d SizeDist) Min() int { return d.Low }

// String is the text that ParseSizeDist reads.
func (d SizeDist) String() string {
	b := func(n int) string { return FormatBytes(int64(n)) }
	switch d.Form {
	case uniformSize:
		return uniformSize + ":" + b(d.Low) + ":" + b(d.High)
	case normalSize:
		return strings.Join([]string{normalSize, b(int(d.Mid)), b(int(d.Deviation)), b(d.Low), b(d.High)}, ":")
	case listedSize:
		var items []string
		for _, s := range d.Listed {
			items = append(items, b(s.Bytes)+"="+strconv.FormatFloat(s.Weight, 'g', -1, 64))
		}
		return listedSize + ":" + strings.Join(items, ",")
	}
	return b(d.Low)
}

// MarshalText and UnmarshalText make the text form the one in files.
func (d SizeDist) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *SizeDist) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		return errors.New("the record size is empty")
	}
	*d, err = ParseSizeDist(string(text))
	return err
}
