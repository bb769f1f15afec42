// Package lag proves from outside what the broker says of consumer lag: how far groups
// are behind, in the metrics, on the HTTP port and on the command line, and the alerts
// on it.
//
// Every test starts a process of its own and is skipped when BROKER names a broker that
// runs. Nothing but Go is needed. Start reading at lag_test.go, then alert_test.go.
package lag
