//go:build slow

package explain

type burstyKey = struct {
	bursty
	keys int
}

// burstyKeys are the simulations of the table of docs/explain.md.
var burstyKeys = func() (list []burstyKey) {
	for _, n := range []int{300, 1000, 2000} {
		for i, executions := range []int{1, 3, 10} {
			for _, length := range []int{1, 5, 20, 60, 200} {
				if 3*length > n {
					continue
				}
				for _, r := range []relation{independent, shared, cause} {
					if r == shared && length == 1 {
						continue // an iteration is no burst
					}
					list = append(list, burstyKey{bursty{r, n, executions, length}, []int{400, 150, 60}[i]})
				}
			}
		}
	}
	return list
}()
