package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// The commands are run whole, against a fake cluster in this process: it knows
// the protocol and none of the code under test.

// fakeCluster starts a cluster for one test.
func fakeCluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.ClusterID("fake-cluster"), kfake.DefaultNumPartitions(2)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// shell runs command lines against one cluster.
type shell struct {
	t         *testing.T
	bootstrap string
}

func newShell(t *testing.T, c *kfake.Cluster) shell {
	return shell{t, strings.Join(c.ListenAddrs(), ",")}
}

// client are the commands that take --bootstrap.
var client = map[string]bool{"topic": true, "group": true, "config": true, "cluster": true, "produce": true, "consume": true}

// run returns the exit code and both outputs.
func (s shell) run(input string, args ...string) (code int, out, errOut string) {
	s.t.Helper()
	s.t.Setenv(bootstrapVariable, "")
	if (client[args[0]] || len(args) > 1 && args[0] == "bench" && args[1] == "verify") && s.bootstrap != "" {
		args = append(args, "--bootstrap", s.bootstrap)
	}
	var o, e bytes.Buffer
	code = run(args, strings.NewReader(input), &o, &e)
	return code, o.String(), e.String()
}

// ok runs a command that must succeed without a word on standard error.
func (s shell) ok(input string, args ...string) string {
	s.t.Helper()
	code, out, errOut := s.run(input, args...)
	if code != 0 || errOut != "" {
		s.t.Fatalf("%q: exit code %d, standard error %q", args, code, errOut)
	}
	return out
}

// fails runs a command that must fail with the exit code and a sentence that
// holds all of the texts.
func (s shell) fails(want int, args []string, texts ...string) (out string) {
	s.t.Helper()
	code, out, errOut := s.run("", args...)
	if code != want {
		s.t.Errorf("%q: exit code %d, want %d; standard error %q", args, code, want, errOut)
	}
	if !strings.HasPrefix(errOut, "ringmain: ") {
		s.t.Errorf("%q: standard error %q does not begin with the program's name", args, errOut)
	}
	for _, text := range texts {
		if !strings.Contains(errOut, text) {
			s.t.Errorf("%q: standard error %q lacks %q", args, errOut, text)
		}
	}
	return out
}

// decode reads exactly one JSON document.
func decode[T any](t *testing.T, out string) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("not the JSON document that was expected: %v\n%s", err, out)
	}
	if dec.More() {
		t.Fatalf("more than one JSON document:\n%s", out)
	}
	return v
}

// lines is the input "PREFIX1\n...PREFIXn\n".
func lines(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%d\n", prefix, i+1)
	}
	return b.String()
}
