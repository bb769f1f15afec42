// Package connection reaches a Kafka-protocol broker for the client commands:
// it turns Kafka's client properties into a franz-go client, finds out quickly
// and in one sentence when a broker cannot be reached, and puts Kafka's error
// codes into words.
//
// It is not a client library: commands use kgo and kadm directly through Conn.
//
// A Conn belongs to one command. Nothing here retries for longer than the
// command's patience (Options.Patience); a dead broker is an answer, not a
// reason to hang. Start reading at open.go; reach.go has the sentences.
package connection
