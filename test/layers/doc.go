// Package layers holds the habits of the house as ordinary tests: which package
// may import which, which library belongs to whom, what a package must have and
// what it must not be called.
//
// It reads source files and runs nothing. When it fails, either the new import
// is wrong or the table in table.go is out of date; change the table only
// together with docs/ARCHITECTURE.md. Start reading at table.go.
package layers
