package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/show"
)

// configChange is one change of one key; the value is nil for a deletion.
type configChange struct {
	op    kmsg.IncrementalAlterConfigOp
	key   string
	value *string
}

// alteredResource is one item of the result of a change of configs.
type alteredResource struct {
	Resource string   `json:"resource"`
	Name     string   `json:"name"`
	Changed  bool     `json:"changed"`
	Error    *outcome `json:"error"`
}

func newConfigSetCmd(t *target) *cobra.Command {
	return newConfigChangeCmd(t, &cobra.Command{
		Use:     "set TYPE NAME KEY=VALUE...",
		Short:   "Set configs",
		Example: "  ringmain config set topic orders retention.ms=3600000 segment.bytes=67108864\n  ringmain config set broker default log.retention.ms=86400000",
	}, setChanges)
}

func newConfigDeleteCmd(t *target) *cobra.Command {
	return newConfigChangeCmd(t, &cobra.Command{
		Use:     "delete TYPE NAME KEY...",
		Short:   "Return configs to their defaults",
		Example: "  ringmain config delete topic orders retention.ms",
	}, func(keys []string) ([]configChange, error) {
		var out []configChange
		for _, k := range keys {
			out = append(out, configChange{kmsg.IncrementalAlterConfigOpDelete, k, nil})
		}
		return out, nil
	})
}

func newConfigAppendCmd(t *target) *cobra.Command {
	return newConfigChangeCmd(t, &cobra.Command{
		Use:     "append TYPE NAME KEY=VALUE...",
		Short:   "Add values to configs that are lists",
		Example: "  ringmain config append topic orders cleanup.policy=compact",
	}, changesOf(kmsg.IncrementalAlterConfigOpAppend))
}

func newConfigSubtractCmd(t *target) *cobra.Command {
	return newConfigChangeCmd(t, &cobra.Command{
		Use:     "subtract TYPE NAME KEY=VALUE...",
		Short:   "Take values out of configs that are lists",
		Example: "  ringmain config subtract topic orders cleanup.policy=delete",
	}, changesOf(kmsg.IncrementalAlterConfigOpSubtract))
}

func setChanges(pairs []string) ([]configChange, error) {
	return changesOf(kmsg.IncrementalAlterConfigOpSet)(pairs)
}

func changesOf(op kmsg.IncrementalAlterConfigOp) func([]string) ([]configChange, error) {
	return func(pairs []string) ([]configChange, error) {
		kvs, err := keyValues(pairs)
		if err != nil {
			return nil, err
		}
		var out []configChange
		for _, kv := range kvs {
			out = append(out, configChange{op, kv[0], kmsg.StringPtr(kv[1])})
		}
		return out, nil
	}
}

// newConfigChangeCmd completes one of the four commands above, which differ in
// what their arguments mean.
func newConfigChangeCmd(t *target, cmd *cobra.Command, parse func([]string) ([]configChange, error)) *cobra.Command {
	var validateOnly bool
	cmd.Args = cobra.MinimumNArgs(3)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		resource, err := parseResource(args[0], args[1])
		if err != nil {
			return err
		}
		changes, err := parse(args[2:])
		if err != nil {
			return err
		}
		return alterConfigs(cmd, t, []configResource{resource}, changes, validateOnly)
	}
	cmd.Flags().BoolVar(&validateOnly, "validate-only", false, "check, change nothing")
	return cmd
}

// alterConfigs makes the same changes to all resources in one request.
func alterConfigs(cmd *cobra.Command, t *target, resources []configResource, changes []configChange, validateOnly bool) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.ValidateOnly = validateOnly
	for _, r := range resources {
		rr := kmsg.NewIncrementalAlterConfigsRequestResource()
		rr.ResourceType, rr.ResourceName = r.kind, r.name
		for _, ch := range changes {
			rc := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			rc.Name, rc.Op, rc.Value = ch.key, ch.op, ch.value
			rr.Configs = append(rr.Configs, rc)
		}
		req.Resources = append(req.Resources, rr)
	}
	ctx, c, done, err := t.ask(cmd)
	if err != nil {
		return err
	}
	defer done()
	resp, err := req.RequestWith(ctx, c.Client)
	if err != nil {
		return fmt.Errorf("change configs: %w", c.Explain(err))
	}
	items := []alteredResource{}
	var failures []error
	grid := show.NewGrid("RESOURCE", "NAME", "RESULT")
	for _, r := range resp.Resources {
		res := configResource{r.ResourceType, r.ResourceName}
		err := connection.Refused(fmt.Sprintf("change configs of %s", res), r.ErrorCode, r.ErrorMessage)
		items = append(items, alteredResource{Resource: res.word(), Name: res.shown(), Changed: err == nil && !validateOnly, Error: outcomeOf(err)})
		if err != nil {
			failures = append(failures, err)
			continue
		}
		grid.Row(res.word(), res.shown(), pick(validateOnly, "valid", "changed"))
	}
	return printed(cmd, t, items, grid, failures)
}
