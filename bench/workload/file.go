package workload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"ringmain/bench/workloads"
)

// maxFileBytes bounds what is read as a workload file.
const maxFileBytes = 1 << 20

const fileSuffix = ".yaml"

// Parse reads one workload. A key that is not known is an error that names it,
// and so is a value that is not allowed. What the file does not say is as the
// defaults of its kind.
func Parse(r io.Reader) (Spec, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	switch {
	case err != nil:
		return Spec{}, err
	case len(text) > maxFileBytes:
		return Spec{}, fmt.Errorf("more than %d bytes are no workload file", maxFileBytes)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	if err := dec.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return Spec{}, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Spec{}, errors.New("there is a second document after the first; a file is one workload")
	}
	pairs, err := pairsOf(&root)
	if err != nil {
		return Spec{}, err
	}
	// The kind comes first, for the defaults depend on it.
	at := slices.IndexFunc(pairs, func(p pair) bool { return p.key.Value == "kind" })
	switch {
	case at < 0:
		return Spec{}, fmt.Errorf("there is no kind; add a line such as kind: produce (or %s)", strings.Join(kindNames()[1:], ", "))
	case !slices.Contains(Kinds(), Kind(pairs[at].value.Value)):
		return Spec{}, fmt.Errorf("line %d: kind %q is not known; use %s", pairs[at].value.Line, pairs[at].value.Value, strings.Join(kindNames(), ", "))
	}
	f := formOf(Defaults(Kind(pairs[at].value.Value)))
	if err := decodeAll(pairs, &f); err != nil {
		return Spec{}, err
	}
	s := f.spec()
	return s, s.Validate()
}

// Write writes s as a file that Parse reads, with every field.
func (s Spec) Write(w io.Writer) error {
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(formOf(s)); err != nil {
		return fmt.Errorf("write the workload: %w", err)
	}
	return enc.Close()
}

// Builtin is the names of the workloads that the binary brings along, sorted.
func Builtin() []string {
	entries, err := fs.ReadDir(workloads.Files, ".")
	if err != nil {
		panic(err) // files that are part of the binary cannot be missing
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), fileSuffix))
	}
	return names
}

// Source is the text of a workload: of a builtin one by its name, else of the
// file with that path.
func Source(nameOrPath string) ([]byte, error) {
	if slices.Contains(Builtin(), nameOrPath) {
		return workloads.Files.ReadFile(nameOrPath + fileSuffix)
	}
	text, err := os.ReadFile(nameOrPath)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(nameOrPath, "./") {
		return nil, fmt.Errorf("%q is neither a workload nor a file; the workloads are %s", nameOrPath, strings.Join(Builtin(), ", "))
	}
	return text, err
}

// Load is Parse of Source. A workload without a name is called as its file.
func Load(nameOrPath string) (Spec, error) {
	text, err := Source(nameOrPath)
	if err != nil {
		return Spec{}, err
	}
	s, err := Parse(bytes.NewReader(text))
	if err != nil {
		return Spec{}, fmt.Errorf("workload %s: %w", nameOrPath, err)
	}
	if s.Name == "" {
		s.Name = strings.TrimSuffix(filepath.Base(nameOrPath), fileSuffix)
	}
	return s, nil
}
