package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/show"
)

// deletedGroup is one item of the result of group delete.
type deletedGroup struct {
	Group   string   `json:"group"`
	Deleted bool     `json:"deleted"`
	Error   *outcome `json:"error"`
}

func newGroupDeleteCmd(t *target) *cobra.Command {
	var ifExists bool
	cmd := &cobra.Command{
		Use:   "delete GROUP...",
		Short: "Delete groups without members, with their offsets",
		Example: "  ringmain group delete billing\n" +
			"  ringmain group delete scratch --if-exists",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := groupNames(args, false); err != nil {
				return err
			}
			ctx, c, done, err := t.ask(cmd)
			if err != nil {
				return err
			}
			defer done()
			answer, err := c.Admin.DeleteGroups(ctx, args...)
			if err != nil && len(answer) == 0 {
				return fmt.Errorf("delete groups: %w", c.Explain(err))
			}
			items := []deletedGroup{}
			var failures []error
			grid := show.NewGrid("GROUP", "RESULT")
			for _, id := range args {
				r, ok := answer[id]
				fail := r.Err
				if !ok {
					fail = errors.New("its coordinator did not answer")
				}
				err := connection.RefusedErr(fmt.Sprintf("delete group %q", id), fail, "")
				item := deletedGroup{Group: id, Deleted: err == nil, Error: outcomeOf(err)}
				switch {
				case err == nil:
					grid.Row(id, "deleted")
				case ifExists && errors.Is(err, kerr.GroupIDNotFound):
					item.Error = nil
					grid.Row(id, "does not exist")
				default:
					failures = append(failures, err)
				}
				items = append(items, item)
			}
			return printed(cmd, t, items, grid, failures)
		},
	}
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "a group that does not exist is not an error")
	return cmd
}
