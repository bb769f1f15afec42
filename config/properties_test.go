package config

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/iotest"
)

func TestParseProperties(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]string
	}{
		{"empty", "", map[string]string{}},
		{"separators", "a=1\nb:2\nc 3\nd\t4\ne = 5\nf : 6\ng==7\nh=:8\n", map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6", "g": "=7", "h": ":8"}},
		{"comments and blanks", "# a=1\n  ! b=2\n\n \t\nc=3 # not a comment\n", map[string]string{"c": "3 # not a comment"}},
		{"no value", "a\nb=\nc:\n", map[string]string{"a": "", "b": "", "c": ""}},
		{"trailing spaces stay", "a=1 \t\n", map[string]string{"a": "1 \t"}},
		{"last wins", "a=1\na=2", map[string]string{"a": "2"}},
		{"continuation", "a=1,\\\n    2,\\\r\n\t3\nb=4\n", map[string]string{"a": "1,2,3", "b": "4"}},
		{"comment sign in continuation", "a=1\\\n#2\n", map[string]string{"a": "1#2"}},
		{"even backslashes end the line", "a=1\\\\\nb=2\n", map[string]string{"a": `1\`, "b": "2"}},
		{"continuation into the end", "a=1\\", map[string]string{"a": "1"}},
		{"blank line ends a continuation", "a=1\\\n\nb=2\n", map[string]string{"a": "1", "b": "2"}},
		{"line ends", "a=1\rb=2\r\nc=3", map[string]string{"a": "1", "b": "2", "c": "3"}},
		{"escapes", `a\ b\=c\:d=\t\n\r\f\q\\` + "\n", map[string]string{"a b=c:d": "\t\n\r\fq\\"}},
		{"leading space by escape", `a=\ x`, map[string]string{"a": " x"}},
		{"unicode", `a=\u00e4\u20AC`, map[string]string{"a": "ä€"}},
		{"surrogates", `a=\uD83D\uDE00 \uD83Dx \uDE00`, map[string]string{"a": "😀 \uFFFDx \uFFFD"}},
		{"plain UTF-8", "a=ä", map[string]string{"a": "ä"}},
		{"jaas", "l=org.Mod required \\\n  username=\"a\" \\\n  password=\"b\";", map[string]string{"l": `org.Mod required username="a" password="b";`}},
	} {
		got, err := ParseProperties(strings.NewReader(c.text))
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: got %q, error %v; want %q", c.name, got, err, c.want)
		}
	}
}

func TestParsePropertiesErrors(t *testing.T) {
	for _, text := range []string{"a=1\nb=\\u12", "a=\\u12G4", "\\u=1"} {
		_, err := ParseProperties(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), "line") {
			t.Errorf("%q: error %v", text, err)
		}
	}
	broken := errors.New("broken disk")
	if _, err := ParseProperties(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if _, err := ParseProperties(endless{}); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("an endless file: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func FuzzParseProperties(f *testing.F) {
	f.Add("a=1\\\n b\n#c\n")
	f.Add(`\u0041\ =\q`)
	f.Fuzz(func(t *testing.T, text string) {
		values, err := ParseProperties(strings.NewReader(text))
		if err != nil {
			return
		}
		// What was parsed, written out with every character escaped that
		// could mean something, reads the same.
		var b strings.Builder
		escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`, " ", `\ `, "=", `\=`, ":", `\:`, "#", `\#`, "!", `\!`)
		for k, v := range values {
			b.WriteString(escape.Replace(k) + "=" + escape.Replace(v) + "\n")
		}
		again, err := ParseProperties(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(values, again) {
			t.Fatalf("%q became %q", values, again)
		}
	})
}
