package node

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"strconv"
	"strings"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/segment"
)

// rosterName is the file beside the metadata that lists the log directories
// this node has; docs/format/log-directories.md describes it.
const rosterName = "log-directories"

const rosterVersion = 1

// rosterDir is one log directory. The id is what counts: a volume may be
// mounted elsewhere the next time.
type rosterDir struct {
	id   model.TopicID
	path string
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeRoster(dirs []rosterDir) []byte {
	text := fmt.Sprintf("# The log directories of this node. Do not edit.\nformat=%d\n", rosterVersion)
	for _, d := range dirs {
		text += fmt.Sprintf("directory=%s %s\n", d.id, strconv.Quote(d.path))
	}
	return fmt.Appendf([]byte(text), "checksum=%08x\n", crc32.Checksum([]byte(text), castagnoli))
}

// readRoster returns nothing when there is no such file.
func readRoster(fsys vfs.FS, path string) ([]rosterDir, error) {
	b, err := vfs.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of log directories: %w", err)
	}
	return decodeRoster(path, string(b))
}

func decodeRoster(path, content string) ([]rosterDir, error) {
	damaged := func(what string) error {
		return fmt.Errorf("%w: %s: %s; restore the file from a copy, or remove it if every log directory is there", segment.ErrCorrupt, path, what)
	}
	end := strings.LastIndex(content, "checksum=") // paths may have the word
	if end < 0 {
		return nil, damaged("the checksum line is missing")
	}
	text, sum := content[:end], content[end+len("checksum="):]
	var dirs []rosterDir
	var version int
	var problem error
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch key {
		case "format":
			version, _ = strconv.Atoi(value)
		case "directory":
			id, quoted, _ := strings.Cut(value, " ")
			d := rosterDir{}
			var err error
			if d.id, err = model.ParseTopicID(id); err == nil {
				d.path, err = strconv.Unquote(quoted)
			}
			problem = errors.Join(problem, err)
			dirs = append(dirs, d)
		}
	}
	if version > rosterVersion {
		return nil, fmt.Errorf("%w: %s has format %d, this binary reads up to %d", segment.ErrNewer, path, version, rosterVersion)
	}
	if want := fmt.Sprintf("%08x", crc32.Checksum([]byte(text), castagnoli)); strings.TrimSpace(sum) != want {
		return nil, damaged("the checksum is " + strings.TrimSpace(sum) + ", the content has " + want)
	}
	if problem != nil {
		return nil, damaged(problem.Error())
	}
	return dirs, nil
}
