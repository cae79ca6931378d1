//go:build !slow

package explain

// burstyKeys are the simulations of the ordinary tests; `make explain-bench` has more.
var burstyKeys = []struct {
	bursty
	keys int
}{
	{bursty{independent, 300, 1, 1}, 40},
	{bursty{independent, 300, 3, 5}, 30},
	{bursty{shared, 300, 1, 5}, 100},
	{bursty{shared, 300, 3, 5}, 40},
	{bursty{shared, 300, 10, 5}, 20},
	{bursty{shared, 1000, 1, 5}, 100},
	{bursty{cause, 300, 1, 5}, 30},
	{bursty{cause, 300, 3, 20}, 20},
}
