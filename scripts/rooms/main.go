// Command rooms draws the rooms of the program, the directories in internal, from the top floor to
// the ground: a room imports only rooms of lower floors. It fails if there is a circle between
// rooms, or more rooms than a person keeps in mind. It reads the output of
//
//	go list -f '{{.ImportPath}} {{join .Imports " "}}' ./internal/...
//
// on standard input; make lint does that. Read [draw] first.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

const mostRooms = 15

func main() {
	if err := draw(os.Stdout, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}

// draw prints a line per room: its floor and what it imports. The ground floor is 0.
func draw(w io.Writer, list io.Reader) error {
	rooms := map[string]map[string]bool{} // a room, and those that it imports
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		names := strings.Fields(lines.Text())
		from := room(names)
		if from == "" {
			continue
		}
		if rooms[from] == nil {
			rooms[from] = map[string]bool{}
		}
		for i := range names {
			if to := room(names[i:]); to != "" && to != from {
				rooms[from][to] = true
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	floors, err := floorsOf(rooms)
	if err != nil {
		return err
	}
	order := slices.SortedFunc(maps.Keys(rooms), func(a, b string) int {
		if floors[a] != floors[b] {
			return floors[b] - floors[a]
		}
		return strings.Compare(a, b)
	})
	for _, r := range order {
		fmt.Fprintf(w, "%2d  %-11s %s\n", floors[r], r, strings.Join(slices.Sorted(maps.Keys(rooms[r])), " "))
	}
	switch {
	case len(rooms) == 0:
		return errors.New("no package below internal/ on standard input")
	case len(rooms) > mostRooms:
		return fmt.Errorf("internal has %d directories; at most %d are kept in mind: put one into another",
			len(rooms), mostRooms)
	}
	return nil
}

// room returns the first directory below internal of the package that names begin with, or "".
func room(names []string) string {
	if len(names) == 0 {
		return ""
	}
	_, below, _ := strings.Cut(names[0], "krund/internal/")
	name, _, _ := strings.Cut(below, "/")
	return name
}

// floorsOf puts each room one floor above the highest that it imports.
func floorsOf(rooms map[string]map[string]bool) (map[string]int, error) {
	floors := map[string]int{}
	for len(floors) < len(rooms) {
		before := len(floors)
		for _, r := range slices.Sorted(maps.Keys(rooms)) {
			if _, done := floors[r]; done {
				continue
			}
			floor, ready := 0, true
			for to := range rooms[r] {
				below, done := floors[to]
				floor, ready = max(floor, below+1), ready && done
			}
			if ready {
				floors[r] = floor
			}
		}
		if len(floors) == before {
			return nil, fmt.Errorf("a circle of imports among the rooms %s", strings.Join(
				slices.DeleteFunc(slices.Sorted(maps.Keys(rooms)), func(r string) bool {
					_, done := floors[r]
					return done
				}), ", "))
		}
	}
	return floors, nil
}
