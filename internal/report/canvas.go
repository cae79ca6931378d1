package report

import "gonum.org/v1/plot/vg"

// canvas is the drawing surface of a static plot: an SVG (svgCanvas), a page of a PDF or the pixels
// of a PNG (vgCanvas). A figure is figureUnits wide; y grows downwards.
type canvas interface {
	// lines draws open lines, each through its points.
	lines(i ink, lines ...[]vg.Point)
	circles(i ink, radius vg.Length, centers []vg.Point)
	// area fills polygons. The title is their tooltip in formats that have tooltips.
	area(i ink, title string, polygons ...[]vg.Point)
	text(l label)
}

// label is text on a canvas.
type label struct {
	text    string
	at      vg.Point // half the height of a digit above the baseline
	size    vg.Length
	anchor  anchor
	upright bool // written upwards
	halo    bool // with its own background, so that lines do not cross it
}

// baseline is the label's position on its baseline.
func (l *label) baseline() vg.Point {
	const below = 0.36 // of the size
	if l.upright {
		return vg.Point{X: l.at.X + below*l.size, Y: l.at.Y}
	}
	return vg.Point{X: l.at.X, Y: l.at.Y + below*l.size}
}

// anchor is the share of a label's width that lies before its position.
type anchor float64

const (
	start  anchor = 0
	middle anchor = 0.5
	end    anchor = 1
)

// ink is a drawing style: an index of inks.
type ink int

const (
	paperInk ink = iota
	haloInk
	textInk
	gridInk
	axisInk
	seriesInk
	outlierInk
	commonInk
	changeInk
	equivalentInk
	differentInk
	kernelInk
	kernelLineInk
	throttleInk
	throttleLineInk
	temperatureInk
	bandInk
	lightInk
	levelInk
	betterInk
	betterFill
	worseInk
	worseFill
	sameInk
	sameFill
	faintInk
	gcInk
	compileInk
	deoptInk
	codeInk
	pauseInk
	switchInk
	plainInk
)

// inks have the colors of Okabe and Ito, which are distinguishable with any color vision, for light
// and for dark pages. Circles and dashes convey the same information without color.
var inks = [...]struct {
	class       string      // in the style sheet of an SVG
	light, dark uint32      // 0xRRGGBB
	width       vg.Length   // of lines; 0: it fills areas
	dashes      []vg.Length // lengths of a dash and of a gap
}{
	paperInk:        {class: "paper", light: 0xffffff, dark: 0x15181c},
	haloInk:         {class: "halo", light: 0xffffff, dark: 0x15181c, width: 3},
	textInk:         {class: "text", light: 0x222222, dark: 0xdddddd},
	gridInk:         {class: "grid", light: 0xe0e0e0, dark: 0x333333, width: 1},
	axisInk:         {class: "axis", light: 0x888888, dark: 0x888888, width: 1},
	seriesInk:       {class: "series", light: 0x0072b2, dark: 0x56b4e9, width: 1},
	outlierInk:      {class: "out", light: 0xd55e00, dark: 0xe69f00, width: 1},
	commonInk:       {class: "common", light: 0x009e73, dark: 0x2ec99a, width: 1},
	changeInk:       {class: "cp", light: 0xd55e00, dark: 0xe69f00, width: 1, dashes: []vg.Length{5, 4}},
	equivalentInk:   {class: "eq", light: 0x000000, dark: 0xffffff, width: 1.8, dashes: []vg.Length{7, 4}},
	differentInk:    {class: "ne", light: 0x777777, dark: 0x999999, width: 1.8, dashes: []vg.Length{7, 4}},
	kernelInk:       {class: "kernel", light: 0xa0417c, dark: 0xe59ac4},
	kernelLineInk:   {class: "kline", light: 0xa0417c, dark: 0xe59ac4, width: 1, dashes: []vg.Length{1, 3}},
	throttleInk:     {class: "throttle", light: 0xd55e00, dark: 0xe69f00},
	throttleLineInk: {class: "tline", light: 0xd55e00, dark: 0xe69f00, width: 1},
	temperatureInk:  {class: "temperature", light: 0x0072b2, dark: 0x56b4e9},
	bandInk:         {class: "band", light: 0xeceff2, dark: 0x262b31},
	lightInk:        {class: "light", light: 0xc3cad2, dark: 0x4a525b, width: 7},
	levelInk:        {class: "level", light: 0xd55e00, dark: 0xe69f00, width: 1.4},
	betterInk:       {class: "better", light: 0x009e73, dark: 0x2ec99a, width: 2},
	betterFill:      {class: "betterf", light: 0x009e73, dark: 0x2ec99a},
	worseInk:        {class: "worse", light: 0xd55e00, dark: 0xe69f00, width: 2},
	worseFill:       {class: "worsef", light: 0xd55e00, dark: 0xe69f00},
	sameInk:         {class: "same", light: 0x0072b2, dark: 0x56b4e9, width: 2},
	sameFill:        {class: "samef", light: 0x0072b2, dark: 0x56b4e9},
	faintInk:        {class: "faint", light: 0x8a929b, dark: 0x7f8892, width: 1.6},
	gcInk:           {class: "gc", light: 0x009e73, dark: 0x2ec99a},
	compileInk:      {class: "compile", light: 0x0072b2, dark: 0x56b4e9},
	deoptInk:        {class: "deopt", light: 0xd55e00, dark: 0xe69f00},
	codeInk:         {class: "code", light: 0xa0417c, dark: 0xe59ac4},
	pauseInk:        {class: "pause", light: 0xa87900, dark: 0xf0e442},
	switchInk:       {class: "switch", light: 0x777777, dark: 0x999999},
	plainInk:        {class: "plain", light: 0x222222, dark: 0xdddddd},
}
