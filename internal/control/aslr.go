package control

import (
	"fmt"

	"krund/internal/config/setting"
)

const aslrFile = "/proc/sys/kernel/randomize_va_space"

// aslr sets kernel.randomize_va_space (docs.kernel.org, admin-guide/sysctl/kernel).
var aslr = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "aslr", Policy: setting.Require,
		Brief: "address space layout randomization as configured",
		Why:   "with a fixed memory layout all executions share its bias; random layouts sample it",
		Options: []setting.Option{{
			Name: "value", Default: int64(2), Max: 2, Doc: "0 none, 1 stack and libraries, 2 also the heap",
		}},
		What:  "`kernel.randomize_va_space`",
		Notes: "2 in the study: 30 executions sample 30 layouts",
	},
	targets: files(isNumber, aslrFile),
	plan: func(d setting.Demand, _ Request) planner {
		return sysfile{path: aslrFile, want: fmt.Sprint(d.Whole("value"))}.plan
	},
}
