package line

import (
	"fmt"
	"strconv"
	"strings"
)

// Unescape turns the escapes that people write in a shell into bytes: \n, \r,
// \t, \0, \\, and \xHH for any byte.
func Unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		c, n, err := escape(s[i:])
		if err != nil {
			return "", err
		}
		b.WriteByte(c)
		i += n - 1
	}
	return b.String(), nil
}

// escape reads the escape at the start of s and returns its byte and how many
// characters of s it took.
func escape(s string) (c byte, n int, err error) {
	if len(s) < 2 {
		return 0, 0, fmt.Errorf(`%q ends in a lone backslash; write \\ for a backslash`, s)
	}
	switch s[1] {
	case 'n':
		return '\n', 2, nil
	case 'r':
		return '\r', 2, nil
	case 't':
		return '\t', 2, nil
	case '0':
		return 0, 2, nil
	case '\\':
		return '\\', 2, nil
	case 'x':
		if len(s) < 4 {
			break
		}
		v, err := strconv.ParseUint(s[2:4], 16, 8)
		if err != nil {
			break
		}
		return byte(v), 4, nil
	}
	return 0, 0, fmt.Errorf(`%q is not an escape; known are \n \r \t \0 \\ and \xHH`, s[:min(len(s), 4)])
}

// Separator reads the value of a delimiter flag: never empty, escapes allowed.
func Separator(s string) (string, error) {
	sep, err := Unescape(s)
	if err != nil {
		return "", err
	}
	if sep == "" {
		return "", fmt.Errorf("an empty separator cannot separate anything")
	}
	return sep, nil
}
