package boot

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"krund/rig/must"
)

// TestStopTime: the init systems give krund the time that it may need to end in order.
func TestStopTime(t *testing.T) {
	const kill = 10 * time.Second // of the benchmark, in internal/execution/child
	for file, pattern := range map[string]string{
		"../../systemd/krund@.service": `(?m)^TimeoutStopSec=(\d+)$`,
		"../../openbsd/krund.rc":       `(?m)^daemon_timeout=(\d+)$`,
	} {
		text := must.Get(os.ReadFile(file))(t)
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil {
			t.Errorf("%s: no %s", file, pattern)
			continue
		}
		seconds, err := strconv.Atoi(string(found[1]))
		if allowed := time.Duration(seconds) * time.Second; err != nil || allowed < kill+cleanupTime {
			t.Errorf("%s: %v, and krund may need %v", file, allowed, kill+cleanupTime)
		}
	}
}
