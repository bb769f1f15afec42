// Package feed turns lines of text into records of one topic and produces them.
//
// The order of the input is the order in each partition. The first record that
// is refused ends the reading; lines that were read before that was known may
// still be sent, and the result says what was acknowledged. The caller owns the client. Start reading at run.go.
package feed
