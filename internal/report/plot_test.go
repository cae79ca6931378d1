package report

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"math"
	"testing"

	"krund/internal/analysis/warmup"
)

func figures(t *testing.T) []Figure {
	t.Helper()
	d := sample()
	doc := analysed(t, d)
	var list []Figure
	for i := range doc.Pairs {
		for e := range doc.Pairs[i].Executions {
			a := &doc.Pairs[i].Executions[e]
			list = append(list, Figure{doc.Pairs[i].Key, AxisName(doc), NewRun(Values(&d.Pairs[i].Executions[e], "wall"), a)})
		}
	}
	return list
}

// TestWritePlot: every format is one that its readers take, whatever is in it.
func TestWritePlot(t *testing.T) {
	all := append(figures(t), Figure{"nothing", "s", NewRun(nil, nil)},
		Figure{"gaps", "s", NewRun([]float64{1, math.NaN(), math.Inf(1), 2}, &warmup.Execution{Outliers: []int{1, 3}, CommonOutliers: []int{3}})})
	var pdf, svg, image bytes.Buffer
	var pages [][]Figure
	for _, f := range all {
		pages = append(pages, []Figure{f})
	}
	if err := WritePlot(&pdf, PDF, pages); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(pdf.Bytes(), []byte("/Type /Page\n")); !bytes.HasPrefix(pdf.Bytes(), []byte("%PDF")) || n != len(all) {
		t.Errorf("the PDF has %d pages, want %d", n, len(all))
	}
	if err := WritePlot(&svg, SVG, [][]Figure{all}); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(svg.Bytes(), new(struct{})); err != nil || bytes.Contains(svg.Bytes(), []byte("<script>")) {
		t.Errorf("SVG: %v", err)
	}
	if err := WritePlot(&image, PNG, [][]Figure{all[:2]}); err != nil {
		t.Fatal(err)
	}
	if picture, err := png.Decode(&image); err != nil || picture.Bounds().Dx() < 1000 {
		t.Errorf("PNG: %v", err)
	}
}

func TestWritePlotRefuses(t *testing.T) {
	one := [][]Figure{{}}
	for name, err := range map[string]error{
		"no pages":      WritePlot(&bytes.Buffer{}, PDF, nil),
		"two pages":     WritePlot(&bytes.Buffer{}, PNG, append(one, one...)),
		"other formats": WritePlot(&bytes.Buffer{}, "gif", one),
	} {
		if err == nil {
			t.Errorf("%s were not refused", name)
		}
	}
}
