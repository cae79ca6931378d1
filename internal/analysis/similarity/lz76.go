package similarity

import "bytes"

// LZ76 returns the number of phrases of the exhaustive parse of Lempel and Ziv ("On the complexity
// of finite sequences", IEEE Trans. Inf. Theory 22, 1976): each phrase is the shortest string that
// does not occur in the text before its last letter; the occurrence may overlap it. An incomplete
// last phrase counts. The result is 0 for the empty word.
func LZ76(word []byte) int {
	phrases := 0
	for start := 0; start < len(word); phrases++ {
		end, at := start+1, 0
		for end <= len(word) {
			// An occurrence of the longer string cannot be before that of the shorter one.
			next := bytes.Index(word[at:end-1], word[start:end])
			if next < 0 {
				break
			}
			at += next
			end++
		}
		start = end
	}
	return phrases
}
