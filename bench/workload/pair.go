package workload

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// pair is one key of a file with its value.
type pair struct{ key, value *yaml.Node }

// pairsOf takes the top level of a file apart. An empty file has none.
func pairsOf(root *yaml.Node) ([]pair, error) {
	if root.Kind == yaml.DocumentNode {
		root = root.Content[0]
	}
	switch {
	case root.IsZero() || root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null":
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("line %d: a workload is keys with values, such as kind: produce", root.Line)
	}
	var pairs []pair
	for i := 0; i+1 < len(root.Content); i += 2 {
		pairs = append(pairs, pair{root.Content[i], root.Content[i+1]})
	}
	return pairs, nil
}

// decodeAll puts the pairs into f, and names line and key of everything that is wrong.
func decodeAll(pairs []pair, f *form) error {
	var faults []error
	first := map[string]int{} // line of a key
	for _, p := range pairs {
		line, key := p.key.Line, p.key.Value
		switch {
		case !isKey(key):
			faults = append(faults, fmt.Errorf("line %d: key %s is not known", line, key))
		case first[key] > 0:
			faults = append(faults, fmt.Errorf("line %d: key %s is in line %d already", line, key, first[key]))
		default:
			first[key] = line
			if err := p.decode(f); err != nil {
				faults = append(faults, fmt.Errorf("line %d: %s: %w", p.value.Line, key, err))
			}
		}
	}
	return errors.Join(faults...)
}

func isKey(key string) bool {
	return slices.Contains([]string{"name", "description", "topic_config"}, key) || settingOf(key) != nil
}

func settingOf(key string) *Setting {
	for i := range settings {
		if settings[i].Key == key {
			return &settings[i]
		}
	}
	return nil
}

// decode puts one pair into f. What yaml says of a value that does not fit names Go
// types, which nobody who writes a file knows; it is said here in other words.
func (p pair) decode(f *form) error {
	value := p.value
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	if p.key.Value != "topic_config" && value.Kind != yaml.ScalarNode {
		return errors.New("one value belongs here, not a list or more keys")
	}
	one := yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{p.key, p.value}}
	err := one.Decode(f)
	var wrong *yaml.TypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case value.Kind != yaml.ScalarNode:
		return errors.New("each key of a topic's configuration has one value, and comes once")
	}
	if s := settingOf(p.key.Value); s != nil {
		return fmt.Errorf("%q does not fit: %s", value.Value, s.Words)
	}
	return fmt.Errorf("%q does not fit", value.Value)
}

// whole is a whole number; yaml itself would cut 3.5 to 3.
type whole int64

func (n *whole) UnmarshalYAML(node *yaml.Node) error {
	v, err := strconv.ParseInt(strings.ReplaceAll(node.Value, "_", ""), 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not a whole number", node.Value)
	}
	*n = whole(v)
	return nil
}
