package serve

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ringmain/test/harness"
)

// patience bounds every wait. It is long because the machine may be busy.
const patience = 30 * time.Second

// process is `ringmain serve` with exactly the arguments given, where the
// harness would add its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	first  chan string   // the first line on standard output; closed without one
	exited chan struct{} // everything was read, and the process is gone

	mu     sync.Mutex
	stdout bytes.Buffer
	stderr bytes.Buffer
}

// begin starts `ringmain serve args` in a directory of its own.
func begin(t *testing.T, args ...string) *process {
	t.Helper()
	return beginIn(t, t.TempDir(), args...)
}

func beginIn(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	if os.Getenv("BROKER") != "" {
		t.Skip("needs a broker process of its own")
	}
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, first: make(chan string, 1), exited: make(chan struct{})}
	p.cmd = exec.Command(bin, append([]string{"serve"}, args...)...)
	p.cmd.Dir = dir
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errOut, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		r := bufio.NewReader(io.TeeReader(out, p.keep(&p.stdout)))
		if line, err := r.ReadString('\n'); err == nil {
			p.first <- line
		}
		close(p.first)
		_, _ = io.Copy(io.Discard, r)
	})
	reading.Go(func() { _, _ = io.Copy(p.keep(&p.stderr), errOut) })
	go func() {
		reading.Wait()
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("standard error of %v:\n%s", p.cmd.Args, p.errors())
		}
	})
	return p
}

type keeper struct {
	p   *process
	buf *bytes.Buffer
}

func (p *process) keep(buf *bytes.Buffer) keeper { return keeper{p, buf} }

func (k keeper) Write(b []byte) (int, error) {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	return k.buf.Write(b)
}

func (p *process) errors() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String()
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait returns the exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("still running after %v", patience)
		return -1
	}
}

var readyPattern = regexp.MustCompile(`^ringmain ready kafka=(\S+:[1-9][0-9]*) http=(off|\S+:[1-9][0-9]*) node=([0-9]+) cluster=([A-Za-z0-9_-]{22}) ready_ms=([0-9]+)\n$`)

type readyLine struct{ kafka, http, node, cluster string }

// ready waits for the ready line.
func (p *process) ready() readyLine {
	p.t.Helper()
	select {
	case line, ok := <-p.first:
		if !ok {
			p.t.Fatalf("it ended before it was ready: %s", p.errors())
		}
		m := readyPattern.FindStringSubmatch(line)
		if m == nil {
			p.t.Fatalf("the first line on standard output is %q", line)
		}
		return readyLine{kafka: m[1], http: m[2], node: m[3], cluster: m[4]}
	case <-time.After(patience):
		p.t.Fatalf("not ready after %v", patience)
		return readyLine{}
	}
}

// stop ends the process as an operator does, and checks that standard output
// had the ready line and nothing else.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		p.t.Errorf("exit code %d after SIGTERM", code)
	}
	if !readyPattern.MatchString(p.output()) {
		p.t.Errorf("standard output is %q, want the ready line alone", p.output())
	}
}

// refused runs serve with arguments that must not start anything, and wants the
// exit code, no word on standard output, and every given piece on standard error
// in lines of sentences.
func refused(t *testing.T, dir string, code int, pieces []string, args ...string) {
	t.Helper()
	p := beginIn(t, dir, args...)
	if got := p.wait(); got != code {
		t.Errorf("%v: exit code %d, want %d", args, got, code)
	}
	if p.output() != "" {
		t.Errorf("%v: standard output is %q", args, p.output())
	}
	said := p.errors()
	for _, piece := range pieces {
		if !strings.Contains(said, piece) {
			t.Errorf("%v: standard error lacks %q:\n%s", args, piece, said)
		}
	}
	if strings.Contains(said, "panic") || strings.Contains(said, "goroutine ") {
		t.Errorf("%v: it panicked", args)
	}
}

// local are the flags of a broker that disturbs nobody.
func local(more ...string) []string {
	return append([]string{"--listen", "127.0.0.1:0", "--http", "off"}, more...)
}

// tree reads every file below dir: name to content, directories with a slash.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.IsDir() {
			files[name+"/"] = ""
			return nil
		}
		b, err := os.ReadFile(path)
		files[name] = string(b)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// write makes files below dir: name to content.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
