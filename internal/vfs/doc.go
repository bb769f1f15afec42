// Package vfs is the seam through which everything of Ringmain touches the
// disk: files, directories, syncs and the lock on a data directory.
//
// What it is not: a cache, a format, or a policy. It never retries a failed
// sync and never hides a short write as success.
//
// Implementations:
//
//	OS      the real file system (unix). Data files are bare descriptors.
//	Faulty  wraps another FS and fails chosen operations (tests).
//	Mem     keeps everything in memory and can be cloned as a killed process
//	        or a power cut would leave it (tests).
//
// Owner: none; every implementation may be used by any goroutine. One File
// may be read by many goroutines; writes to one File are the caller's to
// order.
//
// Crash behaviour: bytes are on disk after SyncData or Sync of the file AND,
// for a new or renamed name, SyncDir of the directory that holds the name
// (and of the parents created with it). Nothing else promises anything after
// a power cut; after SIGKILL everything written is there.
//
// Start reading at fs.go.
package vfs
