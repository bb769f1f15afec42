package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ringmain/bench"
	"ringmain/bench/workload"
)

// The settings of a workload as they are grouped in help. A setting that is in no
// group is shown with those of the load.
var (
	recordGroup  = []string{"record-size", "keys", "key-size", "batch-bytes", "linger", "codec", "level", "compressibility"}
	produceGroup = []string{"connections", "in-flight", "acks", "idempotent"}
	fetchGroup   = []string{"consumers", "fetch-mode", "fetch-max-bytes", "fetch-min-bytes", "fetch-max-wait", "fill"}
	paceGroup    = []string{"rate", "duration", "warm-up", "seed"}
	loadGroup    = otherSettings(recordGroup, produceGroup, fetchGroup, paceGroup)
)

// settingFlag is the flag of a setting.
func settingFlag(key string) string { return strings.ReplaceAll(key, "_", "-") }

func otherSettings(groups ...[]string) (rest []string) {
	known := slices.Concat(groups...)
	for _, s := range workload.Settings() {
		if name := settingFlag(s.Key); !slices.Contains(known, name) {
			rest = append(rest, name)
		}
	}
	return rest
}

// loadFlags are the flags that change a workload: one for each of its settings.
type loadFlags struct {
	settings map[string]*settingText // by key
	config   []string
}

// settingText is the value of a flag: a text, which the workload reads.
type settingText struct {
	text string
	kind string // what stands for it in help
}

func (v *settingText) String() string         { return v.text }
func (v *settingText) Set(text string) error  { v.text = text; return nil }
func (v *settingText) Type() string           { return v.kind }
func (v *settingText) isSwitch() bool         { return v.kind == "BOOL" }
func (f *loadFlags) given(key string) string  { return f.settings[key].text }
func (f *loadFlags) flags(cmd *cobra.Command) { f.flagsBut(cmd) }

// flagsBut adds the flags, but not those of the given settings.
func (f *loadFlags) flagsBut(cmd *cobra.Command, keys ...string) {
	f.settings = map[string]*settingText{}
	for _, s := range workload.Settings() {
		if slices.Contains(keys, s.Key) {
			continue
		}
		words := s.Words
		if s.Key == "topic" {
			words = "topic that exists (needs --existing); without it one is made, and deleted in the end"
		}
		v := &settingText{kind: s.Value}
		f.settings[s.Key] = v
		cmd.Flags().Var(v, settingFlag(s.Key), words)
		if v.isSwitch() {
			cmd.Flags().Lookup(settingFlag(s.Key)).NoOptDefVal = "true"
		}
	}
	cmd.Flags().StringArrayVar(&f.config, "topic-config", nil, "config `KEY=VALUE` of the topics that are made, repeatable")
}

// spec is the workload that the command line asks for: the one that is named, or
// the defaults of a kind, with the flags over it.
func (f *loadFlags) spec(cmd *cobra.Command, args []string) (workload.Spec, error) {
	var s workload.Spec
	switch {
	case len(args) > 0:
		var err error
		if s, err = loadWorkload(cmd, args[0]); err != nil {
			return s, err
		}
	case f.given("kind") != "":
		kind := workload.Kind(f.given("kind"))
		if !slices.Contains(workload.Kinds(), kind) {
			return s, usagef("--kind %q is not known; use one of %v", kind, workload.Kinds())
		}
		s = workload.Defaults(kind)
		s.Name = string(kind)
	default:
		return s, usagef("no workload: name one of 'ringmain bench list' or a file, or give --kind; usage: %s", cmd.UseLine())
	}
	for _, setting := range workload.Settings() {
		v := f.settings[setting.Key]
		if v == nil || !cmd.Flags().Changed(settingFlag(setting.Key)) {
			continue
		}
		if err := s.Set(setting.Key, v.text); err != nil {
			return s, usagef("--%s %q: %w", settingFlag(setting.Key), v.text, err)
		}
	}
	configs, err := keyValues(f.config)
	if err != nil {
		return s, err
	}
	for _, kv := range configs {
		if s.TopicConfig == nil {
			s.TopicConfig = map[string]string{}
		}
		s.TopicConfig[kv[0]] = kv[1]
	}
	if err := bench.Check(&s); err != nil {
		return s, usageError{err}
	}
	return s, nil
}

// loadWorkload is workload.Load with words for those who type.
func loadWorkload(cmd *cobra.Command, nameOrPath string) (workload.Spec, error) {
	if err := knownWorkload(cmd, nameOrPath); err != nil {
		return workload.Spec{}, err
	}
	s, err := workload.Load(nameOrPath)
	if err != nil {
		return s, usageError{err}
	}
	return s, nil
}

// knownWorkload is nil if there is such a workload or such a file.
func knownWorkload(cmd *cobra.Command, nameOrPath string) error {
	_, err := workload.Source(nameOrPath)
	switch {
	case err == nil:
		return nil
	case !strings.ContainsAny(nameOrPath, "./"):
		return unknownWorkload(cmd, nameOrPath)
	}
	return usageError{fmt.Errorf("workload: %w", err)}
}

// but is names without one of them.
func but(names []string, without string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == without })
}
