package suites

import (
	"os"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestMostListed: directories are not listed without an end, however deep they are.
func TestMostListed(t *testing.T) {
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	must.Do(t, root.Mkdir("a", 0o755))
	must.Do(t, root.Mkdir("a/b", 0o755))
	err := readGo(&tree{root: root, left: mostRead, seen: mostListed - 1}, &Found{})
	must.Be(t, err != nil && strings.Contains(err.Error(), "more than 100000 entries, up to a"), err)
}
