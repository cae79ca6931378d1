package bundle

import "fmt"

// WithShard returns the text of a configuration with the part of the experiment that the machine
// runs.
func WithShard(text []byte, hostname string, index, count int) []byte {
	if count <= 1 {
		return text
	}
	const added = `
# added by krunctl: the part of this machine
[machines.%q.experiment]
shard = "%d/%d"
`
	return fmt.Appendf(text, added, pattern(hostname), index+1, count)
}

// pattern returns a pattern that matches only the hostname. It differs from the name, so that the
// configuration may have a section of that name, too.
func pattern(hostname string) string {
	if hostname == "" {
		return "*"
	}
	return "[" + hostname[:1] + "]" + hostname[1:]
}
