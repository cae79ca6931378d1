package changepoint

import (
	"slices"
	"testing"

	"krund/rig/must"
)

// TestConstantWithRoundedSquares compares with the recursion of the R package written out in R
// 4.2.2 (base functions only). The value is constant and not a double that squares exactly, so
// every number that is compared differs by rounding alone, and one unit in the last place anywhere
// (of log 2π, say) gives other changepoints.
func TestConstantWithRoundedSquares(t *testing.T) {
	found := must.Get(Detect(slices.Repeat([]float64{4885.133804}, 850), Options{Penalty: LogN(15)}))(t)
	want := []int{37, 67, 92, 121, 153, 179, 224, 251, 290, 296, 335, 362, 389, 426, 453, 480, 527, 554, 581,
		608,
		615, 642, 669, 692, 719, 745, 771, 797, 802, 831, 850}
	must.EqualList(t, ends(found), want, "segments end at", "R has")
	must.Equal(t, found.Cost, -15888.828923390971, "cost", "R has -15888.828923390971")
}
