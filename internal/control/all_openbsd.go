package control

// Controls returns the controls of OpenBSD in the order of work; taking back goes the other way. There is no turbo switch, no pinning and
// no way to switch address space layout randomisation off.
func Controls(s Settings) []Control {
	return []Control{
		apm(s.APM),
		malloc(s.Malloc),
		services(s.Services),
		network(s.Network),
	}
}

// Environment returns what the controls want in the environment of a benchmark.
func Environment(s Settings) []string {
	if env := MallocEnv(s.Malloc); env != "" {
		return []string{env}
	}
	return nil
}
