// Package httpapi answers the REST paths of the HTTP port, below /v1.
//
// It knows HTTP and JSON; what it tells comes from small interfaces that node fills.
// Every error is a problem document (RFC 9457) with Kafka's name and number of it
// beside the status.
//
// It holds no state. Start reading at groups.go.
package httpapi
