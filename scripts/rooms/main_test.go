package main

import (
	"strings"
	"testing"

	"krund/rig/must"
)

func TestDraw(t *testing.T) {
	tests := []struct{ name, list, want, refuse string }{
		{"floors", "krund/internal/b/x krund/internal/a fmt\nkrund/internal/a fmt\n" +
			"krund/internal/c krund/internal/b/x krund/internal/a\nkrund/cmd/krund krund/internal/c\n",
			" 2  c           a b\n 1  b           a\n 0  a           \n", ""},
		{
			"within a room",
			"krund/internal/a/x krund/internal/a/y\nkrund/internal/a/y\n",
			" 0  a           \n",
			"",
		},
		{
			"circle of rooms, not of packages",
			"krund/internal/a/x krund/internal/b\nkrund/internal/b krund/internal/a/y\n" +
				"krund/internal/a/y\nkrund/internal/z\n",
			"",
			"a circle of imports among the rooms a, b",
		},
		{"nothing", "", "", "no package below internal/ on standard input"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			err := draw(&out, strings.NewReader(tt.list))
			if tt.refuse != "" {
				must.Need(t, err != nil && err.Error() == tt.refuse, "error", err, tt.refuse)
			} else if err != nil || out.String() != tt.want {
				t.Errorf("%v\n%s\nwant\n%s", err, out.String(), tt.want)
			}
		})
	}
	var many strings.Builder
	for c := 'a'; c < 'a'+mostRooms+1; c++ {
		many.WriteString("krund/internal/" + string(c) + "\n")
	}
	must.Refuse(t, draw(&strings.Builder{}, strings.NewReader(many.String())), "", "16 rooms are accepted")
}
