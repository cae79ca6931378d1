package outlier

// Split partitions the outliers of a pair's process executions into common ones, which at least
// threshold of the other executions have at the same iteration (likely a property of the program,
// such as a garbage collection), and unique ones. Each argument and result is one ascending list
// per execution; warmup_stats uses threshold 1.
func Split(all [][]int, threshold int) (common, unique [][]int) {
	count := map[int]int{}
	for _, outliers := range all {
		for _, i := range outliers {
			count[i]++
		}
	}
	common, unique = make([][]int, len(all)), make([][]int, len(all))
	for e, outliers := range all {
		common[e], unique[e] = []int{}, []int{}
		for _, i := range outliers {
			if count[i]-1 >= threshold {
				common[e] = append(common[e], i)
			} else {
				unique[e] = append(unique[e], i)
			}
		}
	}
	return common, unique
}
