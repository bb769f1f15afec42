package layers

import "strings"

// module is the path of the main module.
const module = "ringmain"

// layers are the packages from the bottom up. A package imports packages of
// lower layers only; peers do not import each other.
var layers = [][]string{
	0: {"model", "internal/invariant"},
	1: {"wire", "record", "sendfile", "metrics", "config", "internal/vfs", "internal/uring", "internal/simnet"},
	2: {"metadata"},
	3: {"segment", "replication", "netio", "auth", "quota"},
	4: {"partition", "controller", "coordinator", "tiered"},
	5: {"broker", "httpapi", "registry"},
	6: {"node"},
	// The load generator knows nothing of the layers between 1 and here.
	7:  {"bench/workloads", "bench/pace", "bench/latency", "bench/facts"},
	8:  {"bench/workload"},
	9:  {"bench/result", "bench/audit"},
	10: {"bench/load"},
	11: {"bench/replay", "bench/franz"},
	12: {"bench"},
	13: {"perf"},
	14: {"perf/report", "perf/trial", "perf/table"},
	15: {"cmd", "test"},
}

// families are trees of packages that may import each other within the tree:
// parts of one thing.
var families = []string{"cmd/ringmain", "test", "coordinator"}

// owners are libraries and packages that only the packages listed may import,
// so that there is one place to look when they change or misbehave.
var owners = map[string][]string{
	"github.com/hashicorp/raft":               {"controller"},
	"github.com/panjf2000/gnet":               {"netio"},
	"github.com/pawelgaczynski/giouring":      {"internal/uring"},
	"github.com/spf13/cobra":                  {"cmd"},
	"github.com/prometheus/client_golang":     {"metrics", "httpapi", "node"},
	"github.com/HdrHistogram/hdrhistogram-go": {"bench/latency"},
	"go.yaml.in/yaml/v3":                      {"bench/workload"},
	// Components get a struct of their own, filled by node; only those who
	// answer for the keys themselves read the table of keys.
	module + "/config": {"broker", "httpapi", "node", "cmd", "test"},
}

// clients are the trees that must work against any broker, so what they may
// use of this module is little, and none of it is the broker.
var clients = []client{
	{tree: "cmd/ringmain/internal", may: []string{"cmd/ringmain/internal", "model", "config"}},
	{tree: "bench", may: []string{"bench", "model", "record", "wire"}},
	{tree: "perf", may: []string{"perf", "bench"}},
}

type client struct {
	tree string
	may  []string
}

// forbiddenWords say nothing about what is inside; no package and no file has
// one in its name.
var forbiddenWords = []string{"util", "utils", "common", "manager", "managers", "helper", "helpers", "misc"}

// forbiddenPackages are fine as words, and too vague for a package.
var forbiddenPackages = []string{"types", "console", "base", "shared"}

// under reports whether pkg is dir or below it.
func under(pkg, dir string) bool {
	return pkg == dir || strings.HasPrefix(pkg, dir+"/")
}

// layerOf is the layer of a package of this module, or -1. The longest entry
// counts: a tree can have parts in layers of their own.
func layerOf(pkg string) int {
	layer, longest := -1, 0
	for n, packages := range layers {
		for _, p := range packages {
			if under(pkg, p) && len(p) > longest {
				layer, longest = n, len(p)
			}
		}
	}
	return layer
}

func underAny(pkg string, dirs []string) bool {
	for _, d := range dirs {
		if under(pkg, d) {
			return true
		}
	}
	return false
}

// objection says why pkg may not import path, or "".
func objection(pkg, path string) string {
	for lib, may := range owners {
		if under(path, lib) && !underAny(pkg, may) {
			return "only " + strings.Join(may, ", ") + " may import " + lib
		}
	}
	target, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		return ""
	}
	for _, c := range clients {
		if under(pkg, c.tree) && !underAny(target, c.may) {
			return c.tree + " must work against any broker; it may use " + strings.Join(c.may, ", ") + " only"
		}
	}
	for _, f := range families {
		if under(pkg, f) && under(target, f) {
			return ""
		}
	}
	switch from, to := layerOf(pkg), layerOf(target); {
	case to < 0:
		return "the package is in no layer; add it to the table in test/layers/table.go"
	case to == from:
		return "they are peers in one layer; let the consumer declare an interface, and node connect them"
	case to > from:
		return "that is upwards; let the consumer declare an interface, and node connect them"
	}
	return ""
}
