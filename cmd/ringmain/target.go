package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/show"
	"ringmain/config"
)

// bootstrapVariable gives --bootstrap its default.
const bootstrapVariable = "RINGMAIN_BOOTSTRAP"

const defaultBootstrap = "127.0.0.1:9092"

// target is where a client command goes and how it prints: the flags that all
// client commands share.
type target struct {
	bootstrap     string
	from          string // what a user sets bootstrap with; "": nothing
	commandConfig string
	output        string
	timeout       time.Duration
}

// flags adds the shared flags to cmd and to the commands below it.
func (t *target) flags(cmd *cobra.Command) {
	t.from = "--bootstrap (or " + bootstrapVariable + ")"
	f := cmd.PersistentFlags()
	f.StringVar(&t.bootstrap, "bootstrap", "", "brokers to ask first, HOST:PORT,... (default $"+bootstrapVariable+", else bootstrap.servers of --command-config, else "+defaultBootstrap+")")
	f.StringVar(&t.commandConfig, "command-config", "", "`file` with Kafka client properties: security.protocol, sasl.*, ssl.* (PEM)")
	f.StringVar(&t.output, "output", "table", "table for people, json for programs")
	f.DurationVar(&t.timeout, "timeout", 30*time.Second, "longest wait for the answer to one administrative request")
}

// ownFlags adds those shared flags that have the given names to cmd alone: not
// to the commands below it, and for commands that need only some of them.
func (t *target) ownFlags(cmd *cobra.Command, names ...string) {
	holder := &cobra.Command{}
	t.flags(holder)
	for _, name := range names {
		cmd.Flags().AddFlag(holder.PersistentFlags().Lookup(name))
	}
}

// format is the checked value of --output.
func (t *target) format() (show.Format, error) {
	f, err := show.ParseFormat(t.output)
	if err != nil {
		return "", usageError{err}
	}
	return f, nil
}

// open reaches the cluster. The context it returns ends with the command or
// with an interrupt from the keyboard; the caller must call close.
func (t *target) open(cmd *cobra.Command, extra ...kgo.Opt) (ctx context.Context, c *connection.Conn, close func(), err error) {
	if _, err := t.format(); err != nil {
		return nil, nil, nil, err
	}
	if t.timeout <= 0 {
		return nil, nil, nil, usagef("--timeout %v must be more than 0", t.timeout)
	}
	props, err := t.properties()
	if err != nil {
		return nil, nil, nil, err
	}
	seeds, err := connection.ParseBootstrap(t.address(props))
	if err != nil {
		return nil, nil, nil, usageError{err}
	}
	if ignored := connection.Ignored(props); len(ignored) > 0 {
		warn(cmd, "%s: no effect here: %s", t.commandConfig, strings.Join(ignored, ", "))
	}
	base := cmd.Context()
	if base == nil {
		base = context.Background()
	}
	ctx, stop := signal.NotifyContext(base, os.Interrupt, syscall.SIGTERM)
	c, err = connection.Open(ctx, connection.Options{
		Bootstrap:  seeds,
		From:       t.from,
		Properties: props,
		Software:   currentBuild().Version,
		Patience:   t.timeout,
		Extra:      extra,
	})
	if err != nil {
		stop()
		return nil, nil, nil, err
	}
	return ctx, c, func() { c.Close(); stop() }, nil
}

// ask is open for a command that makes one request, or a few that belong together: the
// context ends after --timeout too.
func (t *target) ask(cmd *cobra.Command) (ctx context.Context, c *connection.Conn, close func(), err error) {
	ctx, c, disconnect, err := t.open(cmd)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := c.Request(ctx)
	return ctx, c, func() { cancel(); disconnect() }, nil
}

// address picks the bootstrap list: what is closest to the command wins.
func (t *target) address(props map[string]string) string {
	for _, s := range []string{t.bootstrap, os.Getenv(bootstrapVariable), props["bootstrap.servers"]} {
		if s != "" {
			return s
		}
	}
	return defaultBootstrap
}

func (t *target) properties() (map[string]string, error) {
	if t.commandConfig == "" {
		return nil, nil
	}
	f, err := os.Open(t.commandConfig)
	if err != nil {
		return nil, usagef("--command-config: %w", err)
	}
	defer f.Close()
	props, err := config.ParseProperties(f)
	if err != nil {
		return nil, usagef("--command-config %s: %w", t.commandConfig, err)
	}
	return props, nil
}

// warn prints one line on standard error that does not change the exit code.
func warn(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "ringmain: warning: "+format+"\n", args...)
}
