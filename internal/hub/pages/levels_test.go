package pages

import (
	"database/sql"
	"strings"
	"testing"

	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// TestLevels: the page of an experiment shows what the job stored of its machines, and nothing
// before that.
func TestLevels(t *testing.T) { dbtest.OnEach(t, testLevels) }

func testLevels(t *testing.T, at string) {
	h := newTestHub(t, at, "#!/bin/sh\nexit 1\n")
	const head = "Machine effect"
	_, text := h.get("/experiments/e1")
	must.Be(t, !strings.Contains(text, head), "there is no effect yet", text)
	h.update(func(tx *sql.Tx) error {
		err := h.db.PutPoints(t.Context(), tx, database.Experiment{ID: "e1", Name: "sorting"}, nil, "")
		if err != nil {
			return err
		}
		return h.db.PutAnswer(t.Context(), tx, "e1", database.Answer{
			Text: "x: o to n: 1 key worse", Comparison: `{"changes":[{"key":"<b>k","verdict":"worse",
			"steady":{"ratio":{"estimate":1.05,"low":1.01,"high":1.09}}}]}`, Levels: `{"tests":12,"differ":4,"omitted":11,"keys":[
			{"key":"a:C:x","spread":0.031,"spread_low":0.012,"spread_high":0.0504,"p":1e-5,"p_corrected":0.00012,
			"levels":[{"machine":"<b>m","relative":0.0154,"low":null,"high":null},
			{"machine":"n","relative":-0.0152,"low":-0.0263,"high":-0.004}]}]}`})
	})
	_, text = h.get("/experiments/e1")
	for _, want := range []string{head, `<p class="answer"><bdi>x: o to n: 1 key worse</bdi>.`, `class="worse"`, "&lt;b&gt;k",

		"<bdi>the machines differ by up to 3.1 % (1.2, 5.04) in a:C:x; 4 of 12 keys differ</bdi>.",
		"<bdi>&lt;b&gt;m +1.54 %</bdi>", "<bdi>n -1.52 % (-2.63, -0.4)</bdi>", ">0.00012<", "11 keys"} {
		must.Contain(t, text, want, "is missing")
	}
}
