package trial

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// readyWithin bounds the start, on a machine that is busy.
	readyWithin = 60 * time.Second
	// askReadyEvery is the pause between two questions whether it serves. A start
	// takes tens of milliseconds, and Took is known no better than this.
	askReadyEvery = 2 * time.Millisecond
	// tailBytes is how much of a broker's log is kept.
	tailBytes = 4 << 10
)

// Build is a binary of ringmain and how to run it.
type Build struct {
	Binary    string
	Overrides []string // each a key=value of its configuration
	DataDir   string   // must not be there: an old log would be a handicap
}

// Broker is a build that runs.
type Broker struct {
	build  Build
	cmd    *exec.Cmd
	stderr Tail
	exited chan struct{}
	ready  map[string]string // what it said when it was ready
	took   time.Duration
}

// Start runs the build and waits until it serves. Whoever gets a Broker closes
// it; without one nothing is left behind.
func (b Build) Start(ctx context.Context) (*Broker, error) {
	if _, err := os.Lstat(b.DataDir); !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("start %s: the data directory %s is there already; a build is compared on an empty one", b.Binary, b.DataDir)
	}
	args := []string{"serve", "--data-dir", b.DataDir, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"}
	for _, kv := range b.Overrides {
		args = append(args, "--override", kv)
	}
	r := &Broker{build: b, cmd: exec.CommandContext(ctx, b.Binary, args...), exited: make(chan struct{}), stderr: Tail{Keep: tailBytes}}
	r.cmd.Stderr = &r.stderr
	// A group of its own: an interrupt from the keyboard goes to the foreground
	// group, and whoever compares decides when this one ends.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.Cancel = r.kill
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", b.Binary, err)
	}
	begun := time.Now()
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", b.Binary, err)
	}
	said := make(chan string, 1)
	go r.attend(out, said)
	if err := r.untilReady(ctx, said); err != nil {
		r.Close()
		return nil, fmt.Errorf("start %s: %w%s", b.Binary, err, r.lastWords())
	}
	r.took = time.Since(begun)
	return r, nil
}

// attend reads what the process says until it ends.
func (r *Broker) attend(out io.Reader, said chan<- string) {
	defer close(r.exited)
	lines := bufio.NewReader(out)
	first, _ := lines.ReadString('\n')
	said <- first
	_, _ = io.Copy(io.Discard, lines)
	_ = r.cmd.Wait() // it is ended by a signal, as a rule
}

// untilReady waits for the line that says where it listens, and then until it
// says that it serves.
func (r *Broker) untilReady(ctx context.Context, said <-chan string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("not ready after %v", readyWithin))
	defer cancel()
	select {
	case line := <-said:
		var err error
		if r.ready, err = parseReady(line); err != nil {
			return err
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		err := r.askReady(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-r.exited:
			return fmt.Errorf("it ended before it served: %w", err)
		case <-time.After(askReadyEvery):
		}
	}
}

func (r *Broker) askReady(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.ready["http"]+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", resp.Status)
	}
	return nil
}

// parseReady reads "ringmain ready kafka=HOST:PORT http=HOST:PORT ...".
func parseReady(line string) (map[string]string, error) {
	line = strings.TrimSpace(line)
	rest, ok := strings.CutPrefix(line, "ringmain ready ")
	if !ok {
		return nil, fmt.Errorf("its first line is %q, and not that it is ready", line)
	}
	fields := map[string]string{}
	for _, f := range strings.Fields(rest) {
		key, value, _ := strings.Cut(f, "=")
		fields[key] = value
	}
	for _, name := range []string{"kafka", "http"} {
		if _, _, err := net.SplitHostPort(fields[name]); err != nil {
			return nil, fmt.Errorf("its line %q has no %s=HOST:PORT", line, name)
		}
	}
	return fields, nil
}

// Address is where it listens, HOST:PORT.
func (r *Broker) Address() string { return r.ready["kafka"] }

// Metrics is the URL of its metrics.
func (r *Broker) Metrics() string { return "http://" + r.ready["http"] + "/metrics" }

// Took is the time from its start until it said that it serves.
func (r *Broker) Took() time.Duration { return r.took }

// PID is its process.
func (r *Broker) PID() int { return r.cmd.Process.Pid }

// kill ends the process and what it started.
func (r *Broker) kill() error {
	if err := syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return os.ErrProcessDone
}

// Close ends the process at once and removes its data. A clean stop would write
// to the disk what nobody reads, while the next build is measured.
func (r *Broker) Close() error {
	select {
	case <-r.exited:
	default:
		_ = r.kill()
		<-r.exited
	}
	if err := os.RemoveAll(r.build.DataDir); err != nil {
		return fmt.Errorf("remove the data of %s: %w", r.build.Binary, err)
	}
	return nil
}

// lastWords is the end of what it wrote to standard error.
func (r *Broker) lastWords() string {
	if text := strings.TrimSpace(r.stderr.String()); text != "" {
		return "; its last words:\n" + text
	}
	return ""
}
