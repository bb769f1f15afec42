package group

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Row is one line of a file of offsets. Group is empty where the line has none.
type Row struct {
	Group     string
	Topic     string
	Partition int32
	Offset    int64
}

// ReadRows reads a file of offsets in Kafka's form: lines of group,topic,partition,offset,
// or without the group, which then is the one of the command. What WriteRows wrote, and
// what kafka-consumer-groups --export prints, can be read.
func ReadRows(r io.Reader) ([]Row, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = -1
	in.TrimLeadingSpace = true
	in.Comment = '#'
	var rows []Row
	type place struct {
		group, topic string
		partition    int32
	}
	seen := map[place]bool{}
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := in.FieldPos(0)
		row := Row{}
		switch len(fields) {
		case 4:
			row.Group, fields = fields[0], fields[1:]
		case 3:
		default:
			return nil, fmt.Errorf("line %d has %d fields; give group,topic,partition,offset or topic,partition,offset", line, len(fields))
		}
		row.Topic = fields[0]
		p, err := strconv.ParseInt(fields[1], 10, 32)
		if err != nil || p < 0 {
			return nil, fmt.Errorf("line %d: %q is not a partition number", line, fields[1])
		}
		if row.Offset, err = strconv.ParseInt(fields[2], 10, 64); err != nil || row.Offset < 0 {
			return nil, fmt.Errorf("line %d: %q is not an offset", line, fields[2])
		}
		row.Partition = int32(p)
		at := place{row.Group, row.Topic, row.Partition}
		if seen[at] {
			return nil, fmt.Errorf("line %d: partition %d of topic %q is there twice", line, p, row.Topic)
		}
		seen[at] = true
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, errors.New("the file has no offsets")
	}
	return rows, nil
}

// WriteRows writes the moves in the same form; as in Kafka the group is left out where
// there is one only, so withGroup is for several.
func WriteRows(w io.Writer, moves []Move, withGroup bool) error {
	out := csv.NewWriter(w)
	for _, m := range moves {
		fields := []string{m.Group, m.Topic, strconv.Itoa(int(m.Partition)), strconv.FormatInt(m.New, 10)}
		if !withGroup {
			fields = fields[1:]
		}
		if err := out.Write(fields); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
