package harness

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringmain/perf/trial"
)

// readyWithin bounds the wait for the ready line. It is generous because the
// process may have a large log to recover on a busy machine.
const readyWithin = 60 * time.Second

// stopWithin bounds a clean stop before the process is killed.
const stopWithin = 30 * time.Second

// tailBytes is how much of what the process writes is kept.
const tailBytes = 64 << 10

// Options say how to start a broker.
type Options struct {
	DataDir   string   // --data-dir; a fresh temporary one when empty
	Listen    string   // --listen; when empty a free port that stays the broker's until Close
	HTTP      string   // --http; off when empty
	Overrides []string // each a key=value for --override
	Args      []string // more arguments for serve
	Env       []string // more variables, key=value
	Binary    string   // to run in place of Binary(); a script, say, that sets limits before
}

// Broker is a broker process, or an external one known only by its address.
type Broker struct {
	opts     Options
	bin      string
	external bool
	owned    bool  // the data directory is ours to remove
	port     *port // nil: the test named one

	cmd    *exec.Cmd
	ready  map[string]string // fields of the ready line
	exited chan struct{}
	waited error // what Wait said; read after exited is closed
	stderr trial.Tail
	stdout trial.Tail
}

// Start starts a broker for a test, which fails when it does not come up; it is
// stopped, and its own data directory removed, when the test ends. On failure of
// the test the end of the broker's standard error is logged.
func Start(t testing.TB, opts Options) *Broker {
	t.Helper()
	b, err := Launch(opts)
	if err != nil {
		t.Fatalf("starting the broker: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() && !b.external {
			t.Logf("end of the broker's standard error:\n%s", b.Stderr())
		}
		b.Close()
	})
	return b
}

// StartOwn is Start for tests that need a process of their own (to kill, to
// restart, to measure, or with settings of their own): they are skipped when
// BROKER names an external broker.
func StartOwn(t testing.TB, opts Options) *Broker {
	t.Helper()
	if addr := os.Getenv("BROKER"); addr != "" {
		t.Skipf("needs a broker process of its own; BROKER=%s names one that runs", addr)
	}
	return Start(t, opts)
}

// Launch starts a broker outside of a test. The caller ends it with Close.
func Launch(opts Options) (*Broker, error) {
	if addr := os.Getenv("BROKER"); addr != "" {
		return &Broker{external: true, ready: map[string]string{"kafka": addr}}, nil
	}
	bin := opts.Binary
	if bin == "" {
		var err error
		if bin, err = Binary(); err != nil {
			return nil, err
		}
	}
	if opts.HTTP == "" {
		opts.HTTP = "off"
	}
	b := &Broker{opts: opts, bin: bin, stderr: trial.Tail{Keep: tailBytes}, stdout: trial.Tail{Keep: tailBytes}}
	if b.opts.Listen == "" {
		var err error
		if b.port, err = reservePort(); err != nil {
			return nil, fmt.Errorf("a port for the broker: %w", err)
		}
		b.opts.Listen = b.port.addr
	}
	if b.opts.DataDir == "" {
		dir, err := os.MkdirTemp("", "ringmain-test-")
		if err != nil {
			b.Close()
			return nil, err
		}
		b.opts.DataDir, b.owned = filepath.Join(dir, "data"), true
	}
	if err := b.start(); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// spawn starts the process and does not wait for anything. ready receives the first
// line of standard output.
func (b *Broker) spawn() (ready <-chan string, err error) {
	args := []string{"serve", "--data-dir", b.opts.DataDir, "--listen", b.opts.Listen, "--http", b.opts.HTTP}
	for _, kv := range b.opts.Overrides {
		args = append(args, "--override", kv)
	}
	b.cmd = exec.Command(b.bin, append(args, b.opts.Args...)...)
	b.cmd.Env = append(os.Environ(), b.opts.Env...)
	b.cmd.Stderr = &b.stderr
	// A group of its own, so that killing takes whatever the binary started too.
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	line := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		r := bufio.NewReader(io.TeeReader(out, &b.stdout))
		first, _ := r.ReadString('\n')
		line <- first
		io.Copy(io.Discard, r)
	}()
	b.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		<-read // Wait closes the pipe: everything must have been read
		b.waited = cmd.Wait()
		close(exited)
	}(b.cmd, b.exited)
	return line, nil
}

func (b *Broker) start() error {
	line, err := b.spawn()
	if err != nil {
		return err
	}
	select {
	case first := <-line:
		fields, err := parseReady(first)
		if err != nil {
			b.Kill()
			return fmt.Errorf("%w; standard error ends:\n%s", err, b.Stderr())
		}
		b.ready = fields
		return nil
	case <-time.After(readyWithin):
		b.Kill()
		return fmt.Errorf("no ready line within %v; standard error ends:\n%s", readyWithin, b.Stderr())
	}
}

// parseReady reads the one line a broker prints when it serves.
func parseReady(line string) (map[string]string, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "ringmain ready ")
	if !ok {
		return nil, fmt.Errorf("the first line on standard output is %q, not the ready line", line)
	}
	fields := map[string]string{}
	for _, f := range strings.Fields(rest) {
		k, v, ok := strings.Cut(f, "=")
		if !ok {
			return nil, fmt.Errorf("field %q of the ready line is not key=value", f)
		}
		fields[k] = v
	}
	if _, _, err := net.SplitHostPort(fields["kafka"]); err != nil {
		return nil, fmt.Errorf("the ready line %q has no kafka=HOST:PORT: %w", line, err)
	}
	return fields, nil
}

// Addr is the address of the Kafka listener, host:port.
func (b *Broker) Addr() string { return b.ready["kafka"] }

// Ready returns a field of the ready line ("http", "node", "cluster", "ready_ms"),
// or "" where there is none.
func (b *Broker) Ready(field string) string { return b.ready[field] }

// External reports whether the broker was named by BROKER instead of started.
func (b *Broker) External() bool { return b.external }

// DataDir is the directory given as --data-dir.
func (b *Broker) DataDir() string { return b.opts.DataDir }

// PID is the process id, or 0 for an external broker.
func (b *Broker) PID() int {
	if b.cmd == nil || b.cmd.Process == nil {
		return 0
	}
	return b.cmd.Process.Pid
}

// Alive reports whether the process has not exited.
func (b *Broker) Alive() bool {
	if b.external {
		return true
	}
	if b.exited == nil {
		return false
	}
	select {
	case <-b.exited:
		return false
	default:
		return true
	}
}

// Stderr returns the last 64 KiB of standard error, over all starts.
func (b *Broker) Stderr() string { return b.stderr.String() }

// Stdout returns the last 64 KiB of standard output, the ready lines included.
func (b *Broker) Stdout() string { return b.stdout.String() }

// Stop ends the process with SIGTERM and returns an error unless it exits with
// status 0 in time.
func (b *Broker) Stop() error {
	if b.external || !b.Alive() {
		return nil
	}
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-b.exited:
		if b.waited != nil {
			return fmt.Errorf("after SIGTERM: %w", b.waited)
		}
		return nil
	case <-time.After(stopWithin):
		b.Kill()
		return fmt.Errorf("still running %v after SIGTERM", stopWithin)
	}
}

// Kill ends the process with SIGKILL and waits until it is gone.
func (b *Broker) Kill() {
	if b.external || b.exited == nil || !b.Alive() {
		return
	}
	_ = syscall.Kill(-b.PID(), syscall.SIGKILL)
	<-b.exited
}

// Restart starts the broker again on the same directory and the same port. It must have been stopped or killed.
func (b *Broker) Restart() error {
	if b.external {
		return errors.New("an external broker cannot be restarted")
	}
	if b.Alive() {
		return errors.New("the broker still runs")
	}
	b.opts.Listen = b.Addr()
	return b.start()
}

// StartAndKill starts the broker as Restart does and kills it after so long a time,
// wherever its start has come by then.
func (b *Broker) StartAndKill(after time.Duration) error {
	if b.external || b.Alive() {
		return errors.New("an external broker or one that runs cannot be started")
	}
	b.opts.Listen = b.Addr()
	if _, err := b.spawn(); err != nil {
		return err
	}
	select {
	case <-time.After(after):
	case <-b.exited: // by itself: the next start says why
	}
	b.Kill()
	return nil
}

// Close stops the broker, killing it if need be, and removes its own directory.
func (b *Broker) Close() {
	if b.external {
		return
	}
	if b.exited != nil && b.Alive() {
		if b.Stop() != nil {
			b.Kill()
		}
	}
	if b.port != nil {
		b.port.release()
		b.port = nil
	}
	if b.owned {
		os.RemoveAll(filepath.Dir(b.opts.DataDir))
	}
}
