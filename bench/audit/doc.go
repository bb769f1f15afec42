// Package audit proves what a broker did with the records that a load wrote: it
// marks each record (Stamp), keeps account of what was sent, acknowledged and
// read (Book), and says what is missing, double, out of order or changed
// (Verdict). State keeps the account in a file, so that it survives the process.
//
// It is not a client: it neither sends nor reads. Whoever does says so to the
// Book.
//
// A stream is what one producer sends to one partition, numbered from 0 without
// gaps. A Stream has a lock of its own and may be used by the one goroutine that
// sends and the one that reads at the same time.
//
// Invariants:
//   - memory is bounded by the number of gaps, not of records: what is complete
//     and in order is one span, whatever its length, and the spans of a stream
//     are at most maxSpans;
//   - a record whose answer never came is neither lost nor wrong when it is not
//     read; when it is read twice it is a duplicate all the same.
//
// Start reading at book.go; stamp.go has the layout.
package audit
