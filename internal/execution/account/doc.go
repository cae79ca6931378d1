// Package account makes the account that benchmarks run as, and removes what they leave behind on
// the machine: processes, files, System V objects, the home, the account itself.
//
// Fresh makes the account anew before an execution, Empty frees its disk space, Remove deletes it
// at the end of an experiment; Own is the account as internal/control restores a machine. Parsers
// and plans (passwd.go, plan.go, ipc.go) are pure. Everything that a benchmark may have left is
// hostile input: sweep.go removes trees of any shape.
//
// The package never touches an account, home, group or mount that is not krund's own, and never
// starts a benchmark: that is internal/execution/child. Programs whose accounts are made with Fresh
// call Stage first in main. Start reading at maker.fresh.
package account
