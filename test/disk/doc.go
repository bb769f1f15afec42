// Package disk runs the broker on disks that fill up, become read-only, hang or
// disappear in part: real ones, ext4 in a file mounted by the kernel.
//
// It needs root, mkfs.ext4 and loop devices, and says so where it is skipped.
// Start reading at disk_linux_test.go; volume_linux_test.go makes the disks.
package disk
