// Package verify proves the verifier of ringmain bench against a real broker,
// from outside: it keeps its account while the broker is killed with SIGKILL and
// started again, and while it is killed itself, and then finds that nothing that
// was acknowledged is lost, double or out of order.
//
// What the verifier finds on brokers that do lose records is shown beside it
// (bench/verify_test.go), on fakes; package test/crash kills the broker in other
// ways and keeps an account of its own.
//
// Every test starts a process of its own and is skipped when BROKER names a
// broker that runs. Start reading at verify_test.go.
package verify
