package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/show"
	"ringmain/config"
	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/node"
	"ringmain/segment"
)

// errFound makes verify fail when something is wrong.
var errFound = errors.New("stored data is damaged")

// storage is the flags of the commands that read a node's directories.
type storage struct {
	target
	configFile string
	dirs       []string
}

func (s *storage) flags(cmd *cobra.Command) {
	s.ownFlags(cmd, "output")
	cmd.Flags().StringSliceVar(&s.dirs, "data-dir", nil, "`DIR`,... as in log.dirs, and metadata.log.dir if that is another one; repeatable (default ./ringmain-data)")
	cmd.Flags().StringVar(&s.configFile, "config", "", "server.properties `FILE` that names the directories")
	cmd.MarkFlagsMutuallyExclusive("data-dir", "config")
}

// paths are the directories to read.
func (s *storage) paths() ([]string, error) {
	if len(s.dirs) > 0 {
		return s.dirs, nil
	}
	values, err := (&serveFlags{configFile: s.configFile}).values()
	if err != nil {
		return nil, err
	}
	cfg, _, err := config.LoadServer(values)
	if err != nil {
		return nil, usageError{err}
	}
	dirs := slices.Clone(cfg.LogDirs)
	if !slices.Contains(dirs, cfg.MetadataDir) {
		dirs = append(dirs, cfg.MetadataDir)
	}
	return dirs, nil
}

// verified is the document of log verify and log repair.
type verified struct {
	Directories []string `json:"directories"`
	segment.Totals
	MetadataEntries int               `json:"metadata_entries"`
	MetadataBytes   int64             `json:"metadata_bytes"`
	Findings        []segment.Finding `json:"findings"`
	Repaired        bool              `json:"repaired"`
	Error           *string           `json:"error"`
}

func newLogVerifyCmd() *cobra.Command {
	s := &storage{}
	cmd := &cobra.Command{
		Use:   "verify [TOPIC[-PARTITION]...]",
		Short: "Check everything that is stored, while no broker runs",
		Long: "Read every file of a node's directories and check it: of each segment all frames,\n" +
			"checksums, offsets, leader epochs and the records inside, indexes and producer snapshots\n" +
			"against the batches, epoch histories, checkpoints, identities, the metadata log and its\n" +
			"checkpoints. Nothing is changed. It is refused while a broker uses a directory.\n\n" +
			"Leftovers of a crash that the next start mends are shown as harmless. Exit code 1 says\n" +
			"that something else was found.",
		Example: "  ringmain log verify\n" +
			"  ringmain log verify --data-dir /var/lib/ringmain orders payments-3\n" +
			"  ringmain log verify --config server.properties --output json",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, out, err := s.run(cmd, args)
			if err != nil {
				return err
			}
			defer v.Close()
			return s.print(cmd, out, harm(out.Findings, "wrong"))
		},
	}
	s.flags(cmd)
	return cmd
}

// harm is the error for findings that no start mends.
func harm(found []segment.Finding, word string) error {
	n := 0
	for _, f := range found {
		if !f.Harmless {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d %s %s", errFound, n, pick(n == 1, "thing is", "things are"), word)
}

// run reads the directories and says what is in them. The caller closes the
// verification, which keeps brokers away.
func (s *storage) run(cmd *cobra.Command, args []string) (*node.Verification, *verified, error) {
	if _, err := s.format(); err != nil {
		return nil, nil, err
	}
	paths, err := s.paths()
	if err != nil {
		return nil, nil, err
	}
	met := make([]bool, len(args))
	var want func(model.TopicPartition) bool
	if len(args) > 0 {
		want = func(tp model.TopicPartition) (yes bool) {
			for i, a := range args {
				if a == tp.Topic || a == tp.String() {
					met[i], yes = true, true
				}
			}
			return yes
		}
	}
	v, err := node.OpenVerification(vfs.OS{}, paths, want)
	if err != nil {
		return nil, nil, err
	}
	if i := slices.Index(met, false); i >= 0 {
		return nil, nil, errors.Join(fmt.Errorf("no partition of %q is in %s", args[i], strings.Join(paths, " or ")), v.Close())
	}
	bar := show.NewProgress(cmd.ErrOrStderr(), "verify", "bytes", v.Bytes())
	err = v.Run(bar.Add)
	bar.Stop()
	if err != nil {
		return nil, nil, errors.Join(err, v.Close())
	}
	out := &verified{Directories: paths, Totals: v.Totals(), MetadataEntries: v.Entries, MetadataBytes: v.MetadataBytes, Findings: v.Findings()}
	if out.Findings == nil {
		out.Findings = []segment.Finding{}
	}
	return v, out, nil
}

// print writes the table or the document; failed says why the exit code is 1.
func (s *storage) print(cmd *cobra.Command, out *verified, failed error) error {
	if failed != nil {
		text := failed.Error()
		out.Error = &text
	}
	grid := show.NewGrid("FILE", "POSITION", "LOST OFFSETS", "WHAT IS WRONG", "REPAIR")
	for _, f := range out.Findings {
		lost := "-"
		if f.To > f.From {
			lost = fmt.Sprintf("%d-%d", f.From, f.To-1)
		}
		grid.Row(f.File, offsetCell(f.Position), lost, f.Reason+pick(f.Harmless, " (harmless)", ""), orDash(f.Repair))
	}
	if err := printed(cmd, &s.target, out, grid, nil); err != nil {
		return err
	}
	if s.output == "table" {
		fmt.Fprintf(cmd.OutOrStdout(), "%s%d partitions, %d segments, %d batches, %d records, %d bytes; %d entries of metadata: %s\n", pick(grid.Len() > 0, "\n", ""),
			out.Partitions, out.Segments, out.Batches, out.Records, out.Bytes, out.MetadataEntries, verdict(out))
	}
	return failed
}

func verdict(out *verified) string {
	switch {
	case out.Repaired:
		return "repaired"
	case harm(out.Findings, "") != nil:
		return "damaged"
	case len(out.Findings) > 0:
		return "sound, but for what a crash left"
	}
	return "sound"
}
