package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/show"
)

func newTopicCmd() *cobra.Command {
	t := &target{}
	cmd := &cobra.Command{
		Use:   "topic",
		Short: "Create, list, describe, change and delete topics",
		Example: "  ringmain topic create orders --partitions 3 --config retention.ms=86400000\n" +
			"  ringmain topic describe orders",
		RunE: needCommand,
	}
	t.flags(cmd)
	cmd.AddCommand(
		newTopicCreateCmd(t),
		newTopicListCmd(t),
		newTopicDescribeCmd(t),
		newTopicAlterCmd(t),
		newTopicDeleteCmd(t),
		newTopicAddPartitionsCmd(t),
		newTopicDeleteRecordsCmd(t),
	)
	return cmd
}

// outcome is the error part of one item of a result, null when it worked.
type outcome struct {
	Code    int16  `json:"code"`
	Name    string `json:"name"`
	Message string `json:"message"`
}

// outcomeOf is nil for a nil error.
func outcomeOf(err error) *outcome {
	if err == nil {
		return nil
	}
	var r *connection.Refusal
	if errors.As(err, &r) {
		return &outcome{Code: r.Code, Name: r.Name, Message: r.Message}
	}
	return &outcome{Code: -1, Name: "UNKNOWN_SERVER_ERROR", Message: err.Error()}
}

// keyValues reads repeated KEY=VALUE arguments, in order.
func keyValues(args []string) ([][2]string, error) {
	var out [][2]string
	seen := map[string]bool{}
	for _, a := range args {
		key, value, found := strings.Cut(a, "=")
		key = strings.TrimSpace(key)
		if !found || key == "" {
			return nil, usagef("%q is not KEY=VALUE", a)
		}
		if seen[key] {
			return nil, usagef("key %q is given twice", key)
		}
		seen[key] = true
		out = append(out, [2]string{key, value})
	}
	return out, nil
}

// printed writes v as the one JSON document, or the table, and then fails with
// the errors of the single items, if any: a result is shown even when a part
// of it failed.
func printed(cmd *cobra.Command, t *target, v any, g *show.Grid, failures []error) error {
	format, err := t.format()
	if err != nil {
		return err
	}
	if format == show.JSON {
		err = show.Document(cmd.OutOrStdout(), v)
	} else if g != nil && g.Len() > 0 {
		err = g.Write(cmd.OutOrStdout())
	}
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return errors.Join(failures...)
}
