package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ringmain/config"
	"ringmain/node"
)

type serveFlags struct {
	configFile string
	overrides  []string
	dataDir    string
	listen     string
	http       string
	logFormat  string
	logLevel   string
}

func newServeCmd() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run a broker",
		Long: `Run a broker. Without a configuration file it is a single node that formats
its own data directory. When it is ready, one line goes to standard output:

  ringmain ready kafka=127.0.0.1:9092 http=127.0.0.1:9080 node=1 cluster=<id> ready_ms=<n>

Logs go to standard error. SIGTERM or SIGINT stops it cleanly; a second signal
stops it at once.`,
		Example: `  ringmain serve
  ringmain serve --data-dir /var/lib/ringmain --listen 0.0.0.0:9092 --override advertised.listeners=PLAINTEXT://broker1:9092
  ringmain serve --config server.properties --http off`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), &f, cmd.OutOrStdout()) },
	}
	c.Flags().StringVar(&f.configFile, "config", "", "server.properties, in Kafka's format and with Kafka's keys")
	c.Flags().StringArrayVar(&f.overrides, "override", nil, "key=value that replaces a key of the file; may be repeated")
	c.Flags().StringVar(&f.dataDir, "data-dir", "", "data directory, the same as log.dirs (default ./ringmain-data)")
	c.Flags().StringVar(&f.listen, "listen", "", "HOST:PORT, the same as listeners=PLAINTEXT://HOST:PORT")
	c.Flags().StringVar(&f.http, "http", "", "HOST:PORT for metrics and health, or off; the same as ringmain.http.listen")
	c.Flags().StringVar(&f.logFormat, "log-format", "text", "text or json")
	c.Flags().StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	return c
}

// values gathers the configuration: the file, then the overrides, then the
// flags that are short for a key.
func (f *serveFlags) values() (map[string]string, error) {
	values := map[string]string{}
	if f.configFile != "" {
		file, err := os.Open(f.configFile)
		if err != nil {
			return nil, usagef("--config: %w", err)
		}
		defer file.Close()
		if values, err = config.ParseProperties(file); err != nil {
			return nil, usagef("--config: %s: %w", f.configFile, err)
		}
	}
	for _, o := range f.overrides {
		k, v, ok := strings.Cut(o, "=")
		if !ok || k == "" {
			return nil, usagef("--override %q is not key=value", o)
		}
		values[k] = v
	}
	if f.dataDir != "" {
		values["log.dirs"] = f.dataDir
	}
	if f.listen != "" {
		values["listeners"] = "PLAINTEXT://" + f.listen
	}
	if f.http != "" {
		values["ringmain.http.listen"] = f.http
	}
	return values, nil
}

// logger makes the log, and the level of it, which clients may change later.
func (f *serveFlags) logger() (*slog.Logger, *slog.LevelVar, error) {
	level := new(slog.LevelVar)
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, nil, usagef("--log-level %q: want debug, info, warn or error", f.logLevel)
	}
	o := &slog.HandlerOptions{Level: level}
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, o)), level, nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, o)), level, nil
	}
	return nil, nil, usagef("--log-format %q: want text or json", f.logFormat)
}

func serve(ctx context.Context, f *serveFlags, out io.Writer) error {
	log, level, err := f.logger()
	if err != nil {
		return err
	}
	values, err := f.values()
	if err != nil {
		return err
	}
	cfg, warnings, err := config.LoadServer(values)
	if err != nil {
		var usage *config.UsageError
		if errors.As(err, &usage) {
			return usageError{err}
		}
		return err
	}
	for _, w := range warnings {
		log.Warn(w)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go obey(stopSignals(), cancel, log)
	n, err := node.Start(ctx, cfg, node.Build{Version: version, Commit: commit}, log, level)
	if err != nil {
		if ctx.Err() != nil {
			log.Info("stopped before it was ready", "reason", err)
			return nil
		}
		return err
	}
	if ctx.Err() == nil {
		fmt.Fprintln(out, n.ReadyLine())
	}
	<-ctx.Done()
	return n.Stop()
}

// stopSignals are those that end a broker. SIGHUP, of a terminal that closes, is
// one as it is for Kafka, unless nohup(1) or the like had it ignored. SIGPIPE is
// not: a broker does not end because nobody reads its log any more.
func stopSignals() <-chan os.Signal {
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	return signals
}

// obey stops the broker, or its start, at the first signal and ends the process
// at the second.
func obey(signals <-chan os.Signal, stop func(), log *slog.Logger) {
	log.Info("stopping", "signal", (<-signals).String())
	stop()
	secondSignal(signals)
	log.Warn("second signal: stopping at once")
	os.Exit(exitFailure)
}

// oneWish is how close two signals must be to count as one: timeout(1) and some
// supervisors signal a process and then its group.
const oneWish = 100 * time.Millisecond

// secondSignal returns when somebody has lost patience with the stop.
func secondSignal(signals <-chan os.Signal) {
	first := time.Now()
	for range signals {
		if time.Since(first) > oneWish {
			return
		}
	}
}
