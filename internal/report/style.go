package report

// Style returns the style sheet of the reports, for other pages with their look.
func Style() []byte { return asset("report.css") }

// Script returns the script of the reports' tables, which the page of a comparison contains between
// script tags.
func Script() []byte { return asset("report.js") }

func asset(name string) []byte {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the program was built with it
	}
	return text
}
