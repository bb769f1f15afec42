package layers

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sourceFile is one Go file of the module, whatever its build tags.
type sourceFile struct {
	path  string // from the root of the module
	pkg   string // directory from the root of the module
	lines int
	text  []byte
	ast   *ast.File
	fset  *token.FileSet
}

func (f sourceFile) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// sources reads every Go file of the module.
func sources(t *testing.T) []sourceFile {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	var out []sourceFile
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			nested, _ := os.Stat(filepath.Join(path, "go.mod"))
			if path == filepath.Join(root, "bin") || path != root && (name[0] == '.' || name == "testdata" || name == "vendor" || name == "node_modules" || nested != nil) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		out = append(out, sourceFile{path: rel, pkg: filepath.ToSlash(filepath.Dir(rel)), lines: bytes.Count(text, []byte("\n")), text: text, ast: tree, fset: fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("no Go files found")
	}
	return out
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && bytes.HasPrefix(text, []byte("module "+module+"\n")) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("the root of module %s is not above the working directory", module)
		}
		dir = parent
	}
}

func TestImports(t *testing.T) {
	for _, f := range sources(t) {
		if layerOf(f.pkg) < 0 {
			t.Errorf("%s: package %s is in no layer; add it to the table in test/layers/table.go", f.path, f.pkg)
			continue
		}
		for _, spec := range f.ast.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			// A test beside a package may import the package itself.
			if f.test() && path == module+"/"+f.pkg {
				continue
			}
			if why := objection(f.pkg, path); why != "" {
				t.Errorf("%s imports %s: %s", f.fset.Position(spec.Pos()), path, why)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, f := range sources(t) {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(f.path), ".go"), "_test")
		dirs := strings.Split(f.pkg, "/")
		for _, word := range append(strings.Split(name, "_"), dirs...) {
			if slices.Contains(forbiddenWords, word) {
				t.Errorf("%s: the name %q says nothing; name the thing", f.path, word)
			}
		}
		for _, dir := range dirs {
			if slices.Contains(forbiddenPackages, dir) {
				t.Errorf("%s: %q is too vague for a package; name the thing", f.path, dir)
			}
		}
	}
}

func TestEveryPackageIsDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range sources(t) {
		if _, seen := documented[f.pkg]; !seen {
			documented[f.pkg] = false
		}
		if filepath.Base(f.path) == "doc.go" && f.ast.Doc != nil {
			first := f.ast.Doc.Text()
			documented[f.pkg] = strings.HasPrefix(first, "Package "+f.ast.Name.Name+" ") || strings.HasPrefix(first, "Command "+filepath.Base(f.pkg)+" ")
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(documented)) {
		if !documented[pkg] {
			t.Errorf("%s has no doc.go that begins with \"Package NAME ...\" (or \"Command NAME ...\")", pkg)
		}
	}
}

// unfinished is what people write to themselves. The parts are put together here
// so that this file does not find itself.
var unfinished = regexp.MustCompile(`\b(` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}, "|") + `)\b`)

func TestNothingIsLeftForLater(t *testing.T) {
	for _, f := range sources(t) {
		for _, group := range f.ast.Comments {
			if found := unfinished.FindString(group.Text()); found != "" {
				t.Errorf("%s: a comment says %q; do it, or write down in docs/deviations.md what is missing", f.fset.Position(group.Pos()), found)
			}
		}
	}
}

// maxLines is where a file is split by noun. What is near is reported with
// go test -v.
const (
	maxLines  = 800
	longLines = 400
)

func TestFileSizes(t *testing.T) {
	files := sources(t)
	slices.SortFunc(files, func(a, b sourceFile) int { return b.lines - a.lines })
	for _, f := range files {
		switch {
		case f.lines > maxLines && !f.test():
			t.Errorf("%s has %d lines; split it by noun (at most %d)", f.path, f.lines, maxLines)
		case f.lines > longLines:
			t.Logf("%5d lines  %s", f.lines, f.path)
		}
	}
}

// TestTableItself: the rules say what they are meant to say.
func TestTableItself(t *testing.T) {
	cases := []struct {
		pkg, path string
		allowed   bool
	}{
		{"segment", module + "/record", true},
		{"segment", module + "/model", true},
		{"segment", "fmt", true},
		{"record", module + "/segment", false},
		{"record", module + "/wire", false},
		{"segment", module + "/netio", false},
		{"segment", module + "/config", false},
		{"node", module + "/config", true},
		{"broker", "github.com/hashicorp/raft", false},
		{"controller", "github.com/hashicorp/raft", true},
		{"netio", "github.com/panjf2000/gnet/v2", true},
		{"coordinator/group", module + "/coordinator", true},
		{"coordinator", module + "/partition", false},
		{"cmd/ringmain", module + "/cmd/ringmain/internal/show", true},
		{"cmd/ringmain/internal/tail", module + "/cmd/ringmain/internal/connection", true},
		{"cmd/ringmain/internal/tail", module + "/segment", false},
		{"cmd/ringmain", module + "/node", true},
		{"test/crash", module + "/segment", true},
		{"node", module + "/cmd/ringmain", false},
		{"broker", module + "/nowhere", false},
		{"model", module + "/internal/invariant", false},
	}
	for _, c := range cases {
		if why := objection(c.pkg, c.path); (why == "") != c.allowed {
			t.Errorf("%s imports %s: objection %q; allowed should be %v", c.pkg, c.path, why, c.allowed)
		}
	}
}
