package warmupend

// Format is the version of Document. docs/output.md describes its fields.
const Format = 1

// Document is what the policies do, by truth.
type Document struct {
	Format  int      `json:"format"`
	Sources []string `json:"sources"`
	Step    string   `json:"step"`
	Truths  []Truth  `json:"truths"`
}

// Truth is what the policies do to executions whose steady state is known in one way.
type Truth struct {
	Truth string `json:"truth"` // how it is known
	Short int    `json:"too_short"`
	Rows  []Row  `json:"rows"`
}
