package workload

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Forms of KeyDist.
const (
	NoKeys      = "none"
	UniformKeys = "uniform"
	ZipfKeys    = "zipf"
)

// KeyDist is which keys records have.
type KeyDist struct {
	Form  string
	Keys  int64   // how many different ones
	Skew  float64 // zipf: key n comes as often as 1/n^skew says
	Bytes int     // of each key
}

// ParseKeyDist reads "none", "uniform:KEYS" or "zipf:KEYS[:SKEW]". The length of
// keys is not part of it.
func ParseKeyDist(text string) (KeyDist, error) {
	parts := strings.Split(strings.TrimSpace(text), ":")
	bad := func() (KeyDist, error) {
		return KeyDist{}, fmt.Errorf("keys %q: the forms are none, uniform:KEYS and zipf:KEYS[:SKEW], with KEYS a whole number of at least 1 and SKEW above 0", text)
	}
	d := KeyDist{Form: parts[0]}
	switch {
	case d.Form == NoKeys && len(parts) == 1:
		return d, nil
	case d.Form == UniformKeys && len(parts) == 2:
	case d.Form == ZipfKeys && (len(parts) == 2 || len(parts) == 3):
		// What most published measurements use.
		d.Skew = 0.99
		if len(parts) == 3 {
			var err error
			if d.Skew, err = strconv.ParseFloat(parts[2], 64); err != nil || !(d.Skew > 0) || math.IsInf(d.Skew, 0) {
				return bad()
			}
		}
	default:
		return bad()
	}
	var err error
	if d.Keys, err = strconv.ParseInt(strings.ReplaceAll(parts[1], "_", ""), 10, 64); err != nil || d.Keys < 1 {
		return bad()
	}
	return d, nil
}

// String is the text that ParseKeyDist reads.
func (d KeyDist) String() string {
	switch d.Form {
	case UniformKeys:
		return fmt.Sprintf("%s:%d", d.Form, d.Keys)
	case ZipfKeys:
		return fmt.Sprintf("%s:%d:%s", d.Form, d.Keys, strconv.FormatFloat(d.Skew, 'g', -1, 64))
	}
	return NoKeys
}

// KeySource draws keys. For one goroutine.
type KeySource struct {
	dist KeyDist
	rand *rand.Rand
	zipf zipf
}

// Source returns a source of keys that draws from r.
func (d KeyDist) Source(r *rand.Rand) *KeySource {
	s := &KeySource{dist: d, rand: r}
	if d.Form == ZipfKeys {
		s.zipf = newZipf(d.Keys, d.Skew)
	}
	return s
}

// Next appends the next key to dst and returns it, or nil if records have none.
func (s *KeySource) Next(dst []byte) []byte {
	switch s.dist.Form {
	case UniformKeys:
		return s.dist.Append(dst, s.rand.Int64N(s.dist.Keys))
	case ZipfKeys:
		return s.dist.Append(dst, s.zipf.next(s.rand)-1)
	}
	return nil
}

// Append appends key n to dst: hexadecimal digits that the number is scattered
// over, so that keys that are next to each other do not look alike to a hash or
// to a compressor.
func (d KeyDist) Append(dst []byte, n int64) []byte {
	const digits = "0123456789abcdef"
	x := uint64(n) + 0x9e3779b97f4a7c15 // 0 would stay 0
	for written := 0; written < d.Bytes; {
		// A bijection on 64 bits, so no two keys of 16 digits are the same.
		x = (x ^ x>>31) * 0x9e3779b97f4a7c15
		x = (x ^ x>>29) * 0xbf58476d1ce4e5b9
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], x)
		for _, b := range word {
			for _, digit := range [2]byte{digits[b>>4], digits[b&15]} {
				if written < d.Bytes {
					dst = append(dst, digit)
					written++
				}
			}
		}
	}
	return dst
}

// zipf draws numbers from 1 to n, k with a probability that falls as 1/k^skew,
// in constant time and memory: by rejection inversion after Hörmann and
// Derflinger, "Rejection-inversion to generate variates from monotone discrete
// distributions" (1996). Go's own rand.Zipf needs a skew above 1.
type zipf struct {
	n                        float64
	skew                     float64
	integralFirst, integralN float64
	squeeze                  float64
}

func newZipf(n int64, skew float64) zipf {
	z := zipf{n: float64(n), skew: skew}
	z.integralFirst = z.integral(1.5) - 1
	z.integralN = z.integral(z.n + 0.5)
	z.squeeze = 2 - z.inverse(z.integral(2.5)-math.Pow(2, -skew))
	return z
}

// integral is the integral of x^-skew, without a constant.
func (z zipf) integral(x float64) float64 {
	l := math.Log(x)
	return expm1Over((1-z.skew)*l) * l
}

func (z zipf) inverse(x float64) float64 {
	t := max(x*(1-z.skew), -1)
	return math.Exp(log1pOver(t) * x)
}

func (z zipf) next(r *rand.Rand) int64 {
	for {
		u := z.integralN + r.Float64()*(z.integralFirst-z.integralN)
		x := z.inverse(u)
		k := min(max(math.Round(x), 1), z.n)
		if k-x <= z.squeeze || u >= z.integral(k+0.5)-math.Pow(k, -z.skew) {
			return int64(k)
		}
	}
}

// log1pOver is log(1+x)/x and expm1Over is (e^x-1)/x, also where x is next to 0.
func log1pOver(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Log1p(x) / x
	}
	return 1 - x/2
}

func expm1Over(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Expm1(x) / x
	}
	return 1 + x/2
}
