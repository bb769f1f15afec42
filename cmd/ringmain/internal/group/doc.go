// Package group tells what a cluster's groups are and where they stand, and works out
// where a reset would put them.
//
// It makes one shape of what the classic protocol and the consumer protocol (KIP-848)
// answer with different requests: Group. Share groups and streams groups keep other
// state than committed offsets; they are listed, and everything else refuses them
// with a sentence (Kind.Supported).
//
// Nothing here changes a group. Start reading at describe.go; reset.go is pure.
package group
