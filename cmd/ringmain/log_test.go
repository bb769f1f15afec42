package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmain/record"
)

func TestLogDump(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "00000000000000000000.log")
	batch := record.NewBuilder().Add(1000, nil, []byte("hello")).Build()
	if err := os.WriteFile(good, batch, 0o600); err != nil {
		t.Fatal(err)
	}
	s := shell{t: t}
	if out := s.ok("", "log", "dump", "--records", good); !strings.Contains(out, "offsets 0-0") || !strings.Contains(out, "hello") {
		t.Errorf("got\n%s", out)
	}
	torn := filepath.Join(dir, "00000000000000000007.log")
	if err := os.WriteFile(torn, batch[:len(batch)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	out := s.fails(exitFailure, []string{"log", "dump", good, torn})
	if strings.Count(out, "==> ") != 2 {
		t.Errorf("got\n%s", out)
	}
	s.fails(exitFailure, []string{"log", "dump", filepath.Join(dir, "none.log")}, "none.log")
	s.fails(exitUsage, []string{"log", "dump"}, "usage: ringmain log dump FILE...")
	s.fails(exitUsage, []string{"log", "dump", good, "--batches", "-1"}, "--batches -1")
}

func TestLogVerifyRefusesWhatIsNotOurs(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := shell{t: t}
	for _, verb := range []string{"verify", "repair"} {
		s.fails(exitFailure, []string{"log", verb, "--data-dir", dir}, "not a Ringmain data directory", "thesis.tex")
		s.fails(exitFailure, []string{"log", verb, "--data-dir", filepath.Join(dir, "none")}, "none has no ringmain.properties")
		s.fails(exitUsage, []string{"log", verb, "--output", "xml"}, "use table or json")
		s.fails(exitUsage, []string{"log", verb, "--config", filepath.Join(dir, "none")}, "--config")
		s.fails(exitUsage, []string{"log", verb, "--config", "x", "--data-dir", "y"}, "config")
	}
	if es, err := os.ReadDir(dir); err != nil || len(es) != 1 {
		t.Errorf("the directory has %v, %v", es, err)
	}
}
