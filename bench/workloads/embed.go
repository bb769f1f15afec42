package workloads

import "embed"

// Files holds *.yaml, by their names.
//
//go:embed *.yaml
var Files embed.FS
