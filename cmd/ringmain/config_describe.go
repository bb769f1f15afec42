package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/show"
)

// describedResource is the result of config describe.
type describedResource struct {
	Resource string            `json:"resource"`
	Name     string            `json:"name"`
	Configs  []describedConfig `json:"configs"`
}

type describedConfig struct {
	Key       string             `json:"key"`
	Value     *string            `json:"value"`
	Source    string             `json:"source"`
	Type      string             `json:"type,omitempty"`
	ReadOnly  bool               `json:"read_only"`
	Sensitive bool               `json:"sensitive"`
	Synonyms  []describedSynonym `json:"synonyms"`
	Doc       string             `json:"doc,omitempty"`
}

type describedSynonym struct {
	Key    string  `json:"key"`
	Value  *string `json:"value"`
	Source string  `json:"source"`
}

func newConfigDescribeCmd(t *target) *cobra.Command {
	var all, docs bool
	cmd := &cobra.Command{
		Use:   "describe TYPE NAME [KEY...]",
		Short: "Show configs and where their values come from",
		Long: "Show configs and where their values come from. Without --all and without keys only\n" +
			"values that somebody set are shown, not defaults.",
		Example: "  ringmain config describe topic orders --all\n" +
			"  ringmain config describe broker 1 log.retention.ms --docs\n" +
			"  ringmain config describe broker default --output json",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			resource, err := parseResource(args[0], args[1])
			if err != nil {
				return err
			}
			ctx, c, done, err := t.ask(cmd)
			if err != nil {
				return err
			}
			defer done()
			req := describeRequest(resource, args[2:], docs)
			resp, err := req.RequestWith(ctx, c.Client)
			if err != nil {
				return fmt.Errorf("describe configs of %s: %w", resource, c.Explain(err))
			}
			if len(resp.Resources) != 1 {
				return fmt.Errorf("describe configs of %s: the broker answered for %d resources instead of one", resource, len(resp.Resources))
			}
			r := resp.Resources[0]
			if err := connection.Refused(fmt.Sprintf("describe configs of %s", resource), r.ErrorCode, r.ErrorMessage); err != nil {
				return err
			}
			if missing := missingKeys(r.Configs, args[2:]); len(missing) > 0 {
				return fmt.Errorf("describe configs of %s: there is no key %s; --all shows the known ones", resource, strings.Join(missing, ", "))
			}
			item := describedResource{Resource: resource.word(), Name: resource.shown(), Configs: describeConfigs(r.Configs, all || len(args) > 2)}
			grid := show.NewGrid("KEY", "VALUE", "SOURCE", "TYPE", "READ ONLY")
			for _, e := range item.Configs {
				grid.Row(e.Key, valueCell(e.Value, e.Sensitive), e.Source, orDash(e.Type), pick(e.ReadOnly, "yes", "no"))
			}
			if err := printed(cmd, t, item, grid, nil); err != nil {
				return err
			}
			if format, _ := t.format(); docs && format == show.Table {
				for _, e := range item.Configs {
					fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n  %s\n", show.Plain(e.Key), show.Plain(orDash(e.Doc)))
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show defaults too")
	cmd.Flags().BoolVar(&docs, "docs", false, "show what each key means")
	return cmd
}

func describeRequest(r configResource, keys []string, docs bool) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms = true
	req.IncludeDocumentation = docs
	rr := kmsg.NewDescribeConfigsRequestResource()
	rr.ResourceType, rr.ResourceName = r.kind, r.name
	if len(keys) > 0 {
		rr.ConfigNames = keys
	}
	req.Resources = append(req.Resources, rr)
	return req
}

func missingKeys(entries []kmsg.DescribeConfigsResponseResourceConfig, keys []string) []string {
	var out []string
	for _, k := range keys {
		if !slices.ContainsFunc(entries, func(e kmsg.DescribeConfigsResponseResourceConfig) bool { return e.Name == k }) {
			out = append(out, k)
		}
	}
	return out
}

// describeConfigs keeps what was set, or everything, by key.
func describeConfigs(entries []kmsg.DescribeConfigsResponseResourceConfig, all bool) []describedConfig {
	out := []describedConfig{}
	for _, e := range entries {
		if !all && (e.Source == kmsg.ConfigSourceDefaultConfig || e.IsDefault) {
			continue
		}
		d := describedConfig{
			Key: e.Name, Value: e.Value, Source: e.Source.String(), ReadOnly: e.ReadOnly,
			Sensitive: e.IsSensitive, Synonyms: []describedSynonym{},
		}
		if e.ConfigType != 0 {
			d.Type = e.ConfigType.String()
		}
		if e.Documentation != nil {
			d.Doc = *e.Documentation
		}
		for _, s := range e.ConfigSynonyms {
			d.Synonyms = append(d.Synonyms, describedSynonym{s.Name, s.Value, s.Source.String()})
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b describedConfig) int { return strings.Compare(a.Key, b.Key) })
	return out
}
