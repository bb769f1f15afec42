// Package group is the state machine of the group coordinator: all groups of one
// partition of __consumer_offsets, with their offsets and their members under the
// classic protocol or the consumer protocol (KIP-848).
//
// A Machine does no I/O and knows no clock but that of its steps, so it runs in
// tests with any time, any order and any failure. Its requests and answers are
// kmsg's; its records are Kafka's (package coordinator/group/records), so Kafka's
// tools can read the topic. The byte fields of a request are another's once it is
// answered, so a machine copies what it keeps of them.
//
// What is in a record changes only through Machine.apply: writing a record applies
// it, and loading applies the same records again. What is not in a record (who is
// parked in JoinGroup, deadlines of sessions) is begun anew when a partition is
// loaded: members have a whole session to come back.
//
// Start reading at machine.go (the table of groups), then group.go (what a group
// has whatever its protocol), apply.go (what a record does), offsets.go and the files
// named by what is asked of offsets and groups, classic.go, consumer.go.
package group
