package group

import (
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// Bounds of an expression that members subscribe with, and of what matching may take
// of one step of the machine. Matching takes time in proportion to the length of the
// name and the size of the program at worst (RE2), so these bound it whatever the
// expression is: one step of matching takes some milliseconds at most.
const (
	// regexMaxBytes is the longest expression.
	regexMaxBytes = 4096
	// regexMaxProgram is the largest program, in instructions; repetitions with large
	// counts make programs large.
	regexMaxProgram = 1000
	// regexStepWork is what is matched in one step, in instructions times characters.
	regexStepWork = 1_000_000
	// regexRefreshMinMs is how old a resolution must be before topics that were
	// created since lead to another one: Kafka's bound for clusters in which topics
	// are created all the time.
	regexRefreshMinMs = 10_000
	// regexesAtOnce is how many expressions one resolution has; the next heartbeat begins
	// with the others. They are compiled in one step.
	regexesAtOnce = 100
)

// topicRegex is an expression that members subscribe with, and the topics that it was
// found to stand for.
type topicRegex struct {
	members  int // that subscribe with it
	resolved bool
	topics   []string // in order
	version  int64    // offset of the metadata of the resolution
	atMs     int64    // time of day of the resolution
}

// resolution is the matching of expressions with all topics, some of them in each
// step, so that the loop is not held up, and then the writing of what was found.
type resolution struct {
	regexes []*matcher
	names   []string // of all topics
	version int64
	at      int  // of names: the next one
	written int  // of regexes
	changed bool // topics came or went
}

type matcher struct {
	text    string
	regex   *regexp.Regexp
	program int // instructions
	matches []string
}

// compile makes an expression match whole names, as RE2/J's matches does.
func compile(text string) (*matcher, *refusal) {
	invalid := func(why any) *refusal {
		return refuse(kerr.InvalidRegularExpression, "SubscribedTopicRegex `%s` is not a valid regular expression: %v.", text, why)
	}
	if len(text) > regexMaxBytes {
		return nil, refuse(kerr.InvalidRegularExpression,
			"SubscribedTopicRegex of %d bytes is too long: this broker takes up to %d bytes. Use several shorter subscriptions or topic names.", len(text), regexMaxBytes)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, invalid(err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, invalid(err)
	}
	if n := len(program.Inst); n > regexMaxProgram {
		return nil, refuse(kerr.InvalidRegularExpression,
			"SubscribedTopicRegex `%s` is too complex: it compiles to %d instructions, and this broker takes up to %d. Use smaller repetition counts or fewer alternatives.", text, n, regexMaxProgram)
	}
	regex, err := regexp.Compile(`\A(?:` + text + `)\z`)
	if err != nil {
		// It is in order by itself, so what is open is a quotation ("\Qa").
		regex, err = regexp.Compile(`\A(?:` + text + `\E)\z`)
	}
	if err != nil {
		return nil, invalid(err)
	}
	return &matcher{text: text, regex: regex, program: len(program.Inst)}, nil
}

// checkRegex refuses an expression that cannot be served. One that others subscribe
// with already is in order. c may be nil: a group that is not there.
func (c *consumer) checkRegex(text *string) *refusal {
	if text == nil || *text == "" || c != nil && c.regexes[*text] != nil && c.regexes[*text].members > 0 {
		return nil
	}
	_, r := compile(*text)
	return r
}

// isResolved reports whether the topics of a subscription are known. "" is none.
func (c *consumer) isResolved(regex string) bool {
	return regex == "" || c.regexes[regex] != nil && c.regexes[regex].resolved
}

// dropRegexes forgets the topics of expressions that nobody subscribes with.
func (c *consumer) dropRegexes(s *coordinator.Step) {
	for _, text := range slices.Sorted(maps.Keys(c.regexes)) {
		if c.regexes[text].members == 0 {
			c.m.write(s, records.ConsumerGroupRegularExpression(c.g.id, text, nil))
		}
	}
}

// refreshRegexes resolves what is not resolved, or may have other topics by now. It
// reports whether topics came or went; what does not fit into this step comes later.
// So does all of it if m, who speaks, waits for topics that it names too: as at Kafka
// it is given those first, by themselves, and there are clients that go by it.
func (c *consumer) refreshRegexes(s *coordinator.Step, m *consumerMember) (changed bool) {
	if c.resolution != nil || len(c.regexes) == 0 {
		return false
	}
	r := &resolution{names: s.Image.TopicNames(), version: s.Image.Offset()}
	for _, text := range slices.Sorted(maps.Keys(c.regexes)) {
		if !c.regexes[text].due(s, c) {
			continue
		}
		// A record of another broker may have one that is not in order here. It stands
		// for no topics.
		m, refused := compile(text)
		if refused != nil {
			m = &matcher{text: text}
		}
		if r.regexes = append(r.regexes, m); len(r.regexes) == regexesAtOnce {
			break
		}
	}
	if len(r.regexes) == 0 {
		return false
	}
	c.resolution = r
	if len(m.said.SubscribedTopicNames) > 0 && !c.isResolved(m.regex()) {
		c.m.deadlines.Put(&c.resolve, s.NowMs)
		return false
	}
	return c.resolveSome(s)
}

func (r *topicRegex) due(s *coordinator.Step, c *consumer) bool {
	age := s.WallMs - r.atMs
	return !r.resolved || age < 0 || age > c.m.cfg.RegexRefreshMs ||
		r.version < c.topicsCreatedAt && age > regexRefreshMinMs
}

// resolveOn goes on with a resolution that was not made in the step that asked for it.
func (c *consumer) resolveOn(s *coordinator.Step) {
	if changed := c.resolveSome(s); c.resolution == nil {
		c.stale = true
		c.follow(s, changed)
	}
}

// resolveSome matches for one step, or records topics for one. changed is told when it
// is through.
func (c *consumer) resolveSome(s *coordinator.Step) (changed bool) {
	r := c.resolution
	if !r.step() || !c.record(s, r) {
		c.m.deadlines.Put(&c.resolve, s.NowMs+1)
		return false
	}
	c.resolution = nil
	return r.changed
}

// record writes the topics of some expressions; done says that all are written.
func (c *consumer) record(s *coordinator.Step, r *resolution) (done bool) {
	for before := len(s.Records); r.written < len(r.regexes); r.written++ {
		bytes := 0
		for i := range s.Records[before:] {
			bytes += s.Records[before+i].Size()
		}
		if bytes >= maxStepBytes {
			return false
		}
		m := r.regexes[r.written]
		was := c.regexes[m.text]
		if was == nil || was.members == 0 {
			continue // they left meanwhile
		}
		r.changed = r.changed || !slices.Equal(was.topics, m.matches)
		c.m.write(s, records.ConsumerGroupRegularExpression(c.g.id, m.text, &records.ConsumerGroupRegularExpressionValue{
			Topics: m.matches, Version: r.version, Timestamp: s.WallMs,
		}))
	}
	return true
}

// step matches some names, at least one; done says that they all are through.
func (r *resolution) step() (done bool) {
	for work := 0; r.at < len(r.names) && work < regexStepWork; r.at++ {
		name := r.names[r.at]
		for _, m := range r.regexes {
			if m.regex == nil {
				continue
			}
			work += m.program * len(name)
			if m.regex.MatchString(name) {
				m.matches = append(m.matches, name)
			}
		}
	}
	return r.at == len(r.names)
}
