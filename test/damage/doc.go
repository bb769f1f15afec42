// Package damage changes the files of a stopped broker, as bad disks and people
// do, and checks from outside that no changed byte reaches a consumer.
//
// Every record says which partition and offset it was written to. A broker fills
// two partitions of one topic and one of another, several segments each, and stops
// or is killed. For each row of the table a copy of its directory is damaged: a
// flipped bit, a cut, zeros behind, a file that is missing or another's, in data,
// indexes, producer snapshots, epoch histories, checkpoints, identities and the
// metadata. Then `ringmain log verify` must name the file; a start is refused with
// a sentence, or every offset of every partition is fetched, and what comes is
// what was written there, or an error; and after `ringmain log repair --yes`
// verify is clean, everything that was not named as lost is served, and no offset
// is given out twice.
//
// Beside the table chance has its turn: a directory that has all kinds of files (compressed,
// compacted and journalled data, idempotent producers, a group) is damaged in a random file
// at a random place, for each of as many seeds as are asked for.
//
//	go test ./test/damage -run Any -chances 600 -seed 7 -timeout 1h
//
// Start reading at rows_test.go, then at chance_test.go.
package damage
