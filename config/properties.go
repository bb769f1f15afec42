package config

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// maxPropertiesBytes bounds a properties file. Real ones have a few KiB.
const maxPropertiesBytes = 16 << 20

// ParseProperties reads the .properties format of Java: "key=value", "key:
// value" or "key value" lines; # and ! begin comments; a line that ends in an
// odd number of backslashes goes on in the next; \t \n \r \f and \uXXXX are
// escapes, and a backslash before anything else is dropped. The last of
// several equal keys wins. Files are read as UTF-8, which agrees with Java for
// ASCII and with what people expect beyond it.
func ParseProperties(r io.Reader) (map[string]string, error) {
	limited := &io.LimitedReader{R: r, N: maxPropertiesBytes + 1}
	br := bufio.NewReader(limited)
	values := map[string]string{}
	number := 0
	for {
		line, start, err := logicalLine(br, &number)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("read properties, line %d: %w", number, err)
		}
		if limited.N <= 0 {
			return nil, fmt.Errorf("read properties: larger than %d bytes", maxPropertiesBytes)
		}
		if line != "" {
			key, value, perr := splitProperty(line)
			if perr != nil {
				return nil, fmt.Errorf("properties line %d: %w", start, perr)
			}
			values[key] = value
		}
		if err == io.EOF {
			return values, nil
		}
	}
}

// logicalLine joins continued lines and skips blank ones and comments. It
// returns the number of the natural line it starts on.
func logicalLine(br *bufio.Reader, number *int) (line string, start int, err error) {
	var b strings.Builder
	continued := false
	for {
		natural, rerr := naturalLine(br)
		if natural != "" || rerr == nil {
			*number++
		}
		text := strings.TrimLeft(natural, " \t\f")
		if !continued {
			start = *number
			if text == "" || text[0] == '#' || text[0] == '!' {
				if rerr != nil {
					return "", start, rerr
				}
				continue
			}
		}
		body, more := cutContinuation(text)
		b.WriteString(body)
		if !more || rerr != nil {
			return b.String(), start, rerr
		}
		continued = true
	}
}

// naturalLine reads up to \n, \r or \r\n, without it.
func naturalLine(br *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		c, err := br.ReadByte()
		if err != nil {
			return b.String(), err
		}
		switch c {
		case '\n':
			return b.String(), nil
		case '\r':
			if next, err := br.Peek(1); err == nil && next[0] == '\n' {
				br.ReadByte()
			}
			return b.String(), nil
		}
		b.WriteByte(c)
	}
}

func cutContinuation(text string) (body string, more bool) {
	n := 0
	for n < len(text) && text[len(text)-1-n] == '\\' {
		n++
	}
	if n%2 == 1 {
		return text[:len(text)-1], true
	}
	return text, false
}

func splitProperty(line string) (key, value string, err error) {
	end, escaped := len(line), false
	for i := range len(line) {
		c := line[i]
		if escaped {
			escaped = false
			continue
		}
		if c == '\\' {
			escaped = true
			continue
		}
		if c == '=' || c == ':' || c == ' ' || c == '\t' || c == '\f' {
			end = i
			break
		}
	}
	rest := strings.TrimLeft(line[end:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	if key, err = unescape(line[:end]); err != nil {
		return "", "", err
	}
	value, err = unescape(rest)
	return key, value, err
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	var high rune // first half of a surrogate pair
	flush := func() {
		if high != 0 {
			b.WriteRune('\uFFFD')
			high = 0
		}
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			flush()
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			break
		}
		if s[i] != 'u' {
			flush()
			switch s[i] {
			case 't':
				b.WriteByte('\t')
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 'f':
				b.WriteByte('\f')
			default:
				b.WriteByte(s[i])
			}
			continue
		}
		if i+4 >= len(s) {
			return "", fmt.Errorf("malformed \\u escape in %q: four hexadecimal digits must follow", s)
		}
		n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
		if err != nil {
			return "", fmt.Errorf("malformed \\u escape in %q: four hexadecimal digits must follow", s)
		}
		i += 4
		r := rune(n)
		switch {
		case high != 0 && r >= 0xDC00 && r <= 0xDFFF:
			b.WriteRune(utf16.DecodeRune(high, r))
			high = 0
		case r >= 0xD800 && r <= 0xDBFF:
			flush()
			high = r
		default:
			flush()
			b.WriteRune(r)
		}
	}
	flush()
	return b.String(), nil
}
