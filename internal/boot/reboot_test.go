package boot

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/config"
	"krund/rig/must"
)

// ways are methods that refuse with an error or accept with nil, and record their calls.
func ways(asked *[]string, answers ...error) []RebootMethod {
	var list []RebootMethod
	for i, answer := range answers {
		name := string(rune('a' + i))
		list = append(list, RebootMethod{name, func(context.Context) error {
			*asked = append(*asked, name)
			return answer
		}})
	}
	return list
}

func TestTheFirstWayThatWorksIsTaken(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		name    string
		answers []error
		asked   []string
		fails   bool
	}{
		{"the first", []error{nil, nil}, []string{"a"}, false},
		{"the second", []error{refused, nil, nil}, []string{"a", "b"}, false},
		{"none", []error{refused, refused}, []string{"a", "b"}, true},
	} {
		var asked []string
		err := Rebooter{Methods: ways(&asked, c.answers...),
			Log: slog.New(slog.DiscardHandler)}.Reboot(t.Context(), config.RebootHardware)
		must.Be(t, slices.Equal(asked, c.asked) && (err != nil) == c.fails, c.name, "asked", asked, "error",
			err, c.asked)
		must.Be(t, !c.fails || errors.Is(err, refused) && strings.Contains(err.Error(), "by hand"), c.name,
			"error", err, "lacks the reason or the next step")
	}
}

// The last method forces the restart, which must not happen if krund is stopped while it waits for
// the first.
func TestNoFurtherMethodAfterAStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var asked []string
	all := append([]RebootMethod{{"slow", func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	}}}, ways(&asked, nil)...)
	err := Rebooter{Methods: all, Log: slog.New(slog.DiscardHandler)}.Reboot(ctx, config.RebootHardware)
	must.Be(t, errors.Is(err, context.Canceled) && asked == nil, "error", err, "asked", asked,
		"want no further method")
}
