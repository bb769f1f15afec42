package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ringmain/bench/result"
	"ringmain/bench/workload"
	"ringmain/cmd/ringmain/internal/show"
	"ringmain/perf"
)

// benchSide is one side of a comparison: a name and its results.
type benchSide struct {
	name string
	docs []*result.Document
}

// parseSides reads what compare was given: first the files, each a side of its
// own, then the sides with a name. A side that is named twice has the files of
// both.
func parseSides(files, named []string) ([]benchSide, error) {
	var sides []benchSide
	for i, name := range names(files) {
		d, err := result.ReadFile(files[i])
		if err != nil {
			return nil, err
		}
		sides = append(sides, benchSide{name, []*result.Document{d}})
	}
	for _, text := range named {
		name, list, found := strings.Cut(text, "=")
		if !found || name == "" || list == "" {
			return nil, usagef("--side %q is not NAME=FILE[,FILE...]", text)
		}
		paths, err := expand(list)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(sides, func(s benchSide) bool { return s.name == name })
		if at < 0 {
			at = len(sides)
			sides = append(sides, benchSide{name: name})
		}
		for _, path := range paths {
			d, err := result.ReadFile(path)
			if err != nil {
				return nil, err
			}
			sides[at].docs = append(sides[at].docs, d)
		}
	}
	if len(sides) < 2 {
		return nil, usagef("%s to compare; give two or more: files, or --side NAME=FILE[,FILE...]", plural(len(sides), "side"))
	}
	return sides, nil
}

// expand splits a list of files, and fills in patterns: behind "name=" the shell
// does not.
func expand(list string) (paths []string, err error) {
	for _, item := range strings.Split(list, ",") {
		if !strings.ContainsAny(item, "*?[") {
			paths = append(paths, item)
			continue
		}
		found, err := filepath.Glob(item)
		if err != nil {
			return nil, usagef("--side: pattern %q: %w", item, err)
		}
		if len(found) == 0 {
			return nil, usagef("--side: no file is like %q", item)
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// rounds are the sides as package perf wants them.
func rounds(sides []benchSide) (out []perf.Side) {
	for _, s := range sides {
		side := perf.Side{Name: s.name}
		for _, d := range s.docs {
			side.Rounds = append(side.Rounds, perf.RoundOf(d))
		}
		out = append(out, side)
	}
	return out
}

// samples are one result of each side, for a page: the last one, which stands
// for the others.
func samples(sides []benchSide) (out []namedDocument) {
	for _, s := range sides {
		if n := len(s.docs); n > 0 {
			name := s.name
			if n > 1 {
				name += ", the last of " + plural(n, "round")
			}
			out = append(out, namedDocument{name, s.docs[n-1]})
		}
	}
	return out
}

// warnOf says where results are no good, or not of the same load: then a
// difference may say nothing about the brokers.
func warnOf(cmd *cobra.Command, sides []benchSide) {
	said := map[string]bool{}
	for _, s := range sides {
		var marked []*result.Document
		for _, d := range s.docs {
			if err := unusable(d); err != nil {
				warn(cmd, "%s: %v", s.name, err)
			}
			if len(d.Warnings) > 0 {
				marked = append(marked, d)
			}
			for _, line := range unlike(sides[0].docs[0].Workload, d.Workload) {
				if !said[line] {
					said[line] = true
					warn(cmd, "%s: another load than %s: %s", s.name, sides[0].name, line)
				}
			}
		}
		if len(marked) > 0 {
			warn(cmd, "%s: %d of %s came with warnings, the first: %s", s.name, len(marked), plural(len(s.docs), "result"), show.Plain(marked[0].Warnings[0]))
		}
	}
}

// unlike lists the settings in which two loads differ, their topics aside.
func unlike(a, b workload.Spec) (out []string) {
	for _, setting := range workload.Settings() {
		if setting.Key == "topic" {
			continue
		}
		was, errA := a.Get(setting.Key)
		is, errB := b.Get(setting.Key)
		if errA == nil && errB == nil && was != is {
			out = append(out, setting.Key+" is "+is+", not "+was)
		}
	}
	return out
}
