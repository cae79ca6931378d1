package child

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// statLine is /proc/PID/stat with the flags, the start and the processor that matter here.
func statLine(name string, flags, start, cpu int) string {
	return fmt.Sprintf("15 (%s) S 2 0 0 0 -1 %d 0 0 0 0 0 3 0 0 20 0 1 0 %d 0 0 18446744073709551615 0 "+
		"0 0 0 0 0 0 2147483647 0 1 0 0 17 %d 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		name, flags, start, cpu)
}

func TestParseThread(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       thread
		bad        bool
	}{
		{"kernel's", statLine("ksoftirqd/1", 69238848, 7, 1),
			thread{name: "ksoftirqd/1", start: 7, kernel: true, cpu: 1}, false},
		{"ordinary", statLine("a) S 2 (b", 4194560, 99, 12), thread{name: "a) S 2 (b", start: 99, cpu: 12},
			false},
		{"short", "15 (x) S 2 0 0 0 -1 0 0 0 0 0 0 3 0 0 20 0 1 0 7 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 17",
			thread{}, true},
		{"flags", strings.Replace(statLine("x", 69238848, 7, 1), "69238848", "-1", 1), thread{}, true},
		{"processor", strings.Replace(statLine("x", 0, 7, 1), " 17 1 ", " 17 one ", 1), thread{}, true},
		{"empty", "", thread{}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseThread([]byte(test.text))
			must.Be(t, (err != nil) == test.bad && got == test.want, got, err, test.want)
		})
	}
}

func used(ms, runs int) results.Activity {
	return results.Activity{CPUNS: int64(ms) * time.Millisecond.Nanoseconds(), Runs: int64(runs)}
}

func TestWhatNeighboursDid(t *testing.T) {
	before := map[int]thread{
		2:  {name: "kthreadd", kernel: true, cpu: 0, used: used(5, 5)},
		13: {name: "ksoftirqd/0", kernel: true, cpu: 0, used: used(10, 10)},
		19: {name: "ksoftirqd/1", kernel: true, cpu: 1, used: used(10, 10)},
		44: {name: "ended", kernel: true, cpu: 1, used: used(10, 10)},
		45: {name: "other", kernel: true, start: 7, cpu: 1, used: used(10, 10)},
		90: {name: "krund", cpu: 1, used: used(1, 1)},
	}
	after := map[int]thread{
		2:  before[2],
		13: {name: "ksoftirqd/0", kernel: true, cpu: 0, used: used(13, 12)},
		19: {name: "ksoftirqd/1", kernel: true, cpu: 1, used: used(11, 14)},
		45: {name: "made meanwhile", kernel: true, start: 8, cpu: 1, used: used(2, 1)},
		90: {name: "krund", cpu: 1, used: used(3, 7)},
		91: {name: "krund", cpu: 1, used: used(1, 1)},
	}
	want := results.KernelThreads{All: used(6, 7), Benchmark: used(3, 5), Busiest: []results.KernelThread{
		{Name: "ksoftirqd/0", CPU: 0, Activity: used(3, 2)},
		{Name: "made meanwhile", CPU: 1, Activity: used(2, 1)},
		{Name: "ksoftirqd/1", CPU: 1, Activity: used(1, 4)},
	}}
	if got := kernelActivity(before, after, []int{1, 3}); !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v\nwant %+v", *got, want)
	}
	want.Benchmark = want.All
	if got := kernelActivity(before, after, nil); !reflect.DeepEqual(*got, want) {
		t.Errorf("on all processors %+v\nwant %+v", *got, want)
	}
	own := func(all map[int]thread) map[int]thread {
		list := map[int]thread{}
		for id, t := range all {
			if !t.kernel {
				list[id] = t
			}
		}
		return list
	}
	must.Equal(t, wakeUps(own(before), own(after)), 7, "woke up", "times, want 7")
	many := map[int]thread{}
	for i := range 30 {
		many[i] = thread{name: "t", kernel: true, used: used(i, 1)}
	}
	got := kernelActivity(nil, many, nil)
	must.Be(t, len(got.Busiest) == mostBusy && got.Busiest[0].CPUNS == 29*time.Millisecond.Nanoseconds() &&
		got.All.Runs == 30, "of many", got)
}
