// Package noise measures and stores how much a machine disturbs a program that only computes: the
// noise certificate.
//
// Take counts, for each CPU, the gaps in which a spinning thread did not run, and attributes them
// to threads, interrupts, softirqs, hypervisor and firmware by what the kernel counted meanwhile
// (census.go). A Certificate (certificate.go) joins that with the noise floor, the variation of a
// fixed program over identical process executions. `krund census` measures, `krunctl check --noise`
// runs it, computes the floor and stores the certificate. Start reading at Take.
//
// The kernel's own tracers osnoise and hwlat (Documentation/trace/osnoise-tracer.rst) do the same
// without a thread of krund's. They are not used: the kernels of Debian are built without them
// (CONFIG_OSNOISE_TRACER), so the result would depend on the distribution.
package noise
