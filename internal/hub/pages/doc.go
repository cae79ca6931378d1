// Package pages makes the hub's web pages.
//
// Each page is a plain Go value, such as [Machines] or [Experiment], and [Write] is the only way
// from such a value to HTML. The values hold text that machines, benchmarks and kernels have
// written. It is untrusted: the templates escape it by context, [display.PlainLine] replaces what
// could deceive a reader, and long names are clipped. The pages have no inline script and no inline
// style, and [Policy] forbids both, so that text that should slip through does nothing.
//
// The pages work without scripts. With the one in assets/hub.js they are live: it listens to the
// hub's events, reads the page again when something has changed, and replaces the parts of it that
// are marked with data-live.
//
// The look is that of the reports: package report has the style sheet, assets/hub.css adds what
// only the hub has. Start reading at [Pages.Routes].
package pages
