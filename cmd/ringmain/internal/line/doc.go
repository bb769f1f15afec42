// Package line is the text form of records: format strings for printing them,
// escapes in separators, and cutting an input into lines with keys.
//
// The forms are kcat's, since that is what people and scripts know. Nothing
// here talks to a broker. Start reading at format.go.
package line
