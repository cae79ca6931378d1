package control

import (
	"strconv"

	"krund/internal/setting"
)

// ASLRSettings asks for a degree of address space layout randomisation.
type ASLRSettings struct {
	Policy setting.Policy
	Value  int // 0 none, 1 stack and libraries, 2 the heap as well (the study's choice: sample layouts rather than stick to one)
}

// aslr sets kernel.randomize_va_space (docs.kernel.org, admin-guide/sysctl/kernel).
func aslr(s ASLRSettings) Control {
	const file = "/proc/sys/kernel/randomize_va_space"
	return Control{
		Name: "aslr", Policy: s.Policy, targets: files(isNumber, file),
		Why:  "with one fixed memory layout all executions share its luck; random layouts sample it",
		plan: sysfile{path: file, want: strconv.Itoa(s.Value)}.plan,
	}
}
