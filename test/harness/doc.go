// Package harness runs the broker as users run it: as a process of its own.
//
// It builds the binary, starts it on a free port, waits for the ready line, and
// stops, kills and restarts it. It also reads what the process costs (resident
// memory, CPU time) and the end of its standard error. It knows nothing of the
// broker's packages; everything that uses it sees the broker only from outside.
//
// Two variables of the environment change what is run:
//
//   - RINGMAIN is the path of a binary (or script) to use in place of building one.
//   - BROKER is host:port of a broker that already runs, of any make. Start then
//     returns it; tests that kill, restart or measure a process skip themselves.
//
// A Broker belongs to the goroutine that started it. Start reading at broker.go.
package harness
