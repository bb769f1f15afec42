package line

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func split(t *testing.T, in io.Reader, sep string, maxBytes int) ([]string, error) {
	t.Helper()
	s := NewSplitter(in, sep, maxBytes)
	var out []string
	for {
		line, err := s.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, string(line))
	}
}

func TestSplitter(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	cases := []struct {
		in, sep string
		want    []string
	}{
		{"", "\n", nil},
		{"a", "\n", []string{"a"}},
		{"a\n", "\n", []string{"a"}},
		{"a\n\nb", "\n", []string{"a", "", "b"}},
		{"a\r\nb", "\n", []string{"a\r", "b"}},
		{"a\x00b\x00", "\x00", []string{"a", "b"}},
		{"a--b-c--", "--", []string{"a", "b-c"}},
		{"aXYXYb", "XY", []string{"a", "", "b"}},
		{long + "\n" + long, "\n", []string{long, long}},
	}
	for _, c := range cases {
		for name, in := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytewise": iotest.OneByteReader(strings.NewReader(c.in))} {
			got, err := split(t, in, c.sep, 1<<20)
			if err != nil || strings.Join(got, "|") != strings.Join(c.want, "|") || len(got) != len(c.want) {
				t.Errorf("%.20q at %q, %s: %d lines, %v; want %d", c.in, c.sep, name, len(got), err, len(c.want))
			}
		}
	}
}

func TestSplitterBound(t *testing.T) {
	for _, in := range []string{"ok\n1234567890\n", "ok\n1234567890", "ok\n" + strings.Repeat("z", 1<<20)} {
		got, err := split(t, strings.NewReader(in), "\n", 9)
		if !errors.Is(err, ErrTooLong) || len(got) != 1 || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%.20q: %q, %v; want one line and ErrTooLong at line 2", in, got, err)
		}
	}
	if got, err := split(t, strings.NewReader("123456789\n123456789"), "\n", 9); err != nil || len(got) != 2 {
		t.Errorf("lines as long as the bound: %q, %v", got, err)
	}
}

func TestSplitterKeepsLinesApart(t *testing.T) {
	s := NewSplitter(strings.NewReader("aa\nbb\n"), "\n", 100)
	first, _ := s.Next()
	_ = append(first, "!!!"...) // a caller may append to what it owns
	second, err := s.Next()
	if err != nil || string(second) != "bb" || string(first) != "aa" {
		t.Errorf("got %q and %q, %v", first, second, err)
	}
}

func TestSplitterReadError(t *testing.T) {
	broken := errors.New("disk is gone")
	_, err := split(t, io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), "\n", 100)
	if !errors.Is(err, broken) {
		t.Errorf("got %v; want the read error", err)
	}
}

func FuzzUnescape(f *testing.F) {
	for _, s := range []string{`\n`, `a\x41b`, `\`, `\x`, `\\`, "plain"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, err := Unescape(s)
		if err == nil && len(out) > len(s) {
			t.Fatalf("%q grew to %q", s, out)
		}
		// A format without % must agree with Unescape on what the text is.
		if strings.Contains(s, "%") {
			return
		}
		format, ferr := ParseFormat(s, "")
		if (err == nil) != (ferr == nil) {
			t.Fatalf("%q: Unescape says %v, ParseFormat says %v", s, err, ferr)
		}
		if err == nil && string(format.Append(nil, sample())) != out {
			t.Fatalf("%q: formats disagree", s)
		}
	})
}
