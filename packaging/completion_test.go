package packaging

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestCompletionsOfKrund: the scripts know each command and flag of `krund help`, and no other one.
func TestCompletionsOfKrund(t *testing.T) {
	source := must.Get(os.ReadFile("../cmd/krund/main.go"))(t)
	_, usage, _ := strings.Cut(string(source), "const usage = `")
	usage, _, _ = strings.Cut(usage, "With experiment.reboot")
	words := func(text, pattern string) []string {
		var list []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			if name := m[1]; !slices.Contains(list, name) && name != "folder" {
				list = append(list, name)
			}
		}
		slices.Sort(list)
		return list
	}
	commands, flags := words(usage, `(?m)^  krund (\w+)`), words(usage, `--([\w-]+)`)
	must.Need(t, len(commands) >= 4 && len(flags) >= 6, "the help has the commands", commands,
		"and the flags", flags)
	for file, pattern := range map[string]string{"krund.bash": `--([\w-]+)`, "krund.zsh": `--([\w-]+)\[`,
		"krund.fish": `-l ([\w-]+)`} {
		text := must.Get(os.ReadFile("completions/" + file))(t)
		must.EqualList(t, words(string(text), pattern), flags, file, "completes", "krund")
		for _, command := range commands {
			must.Contain(t, string(text), command, file, "does not complete")
		}
	}
}

// TestBashCompletesKrund asks bash itself.
func TestBashCompletesKrund(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed: completion is not tried")
	}
	for line, want := range map[string]string{
		"krund ": "run check census version help", "krund c": "check census",
		"krund run --re": "--reboot", "krund run --reboot h": "hardware",
		"krund check --": "--reboot --quick --json --try", "krund check --reboot n": "none",
	} {
		script := `. completions/krund.bash; COMP_WORDS=($1); [[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _krund; echo "${COMPREPLY[*]}"`
		out, err := exec.CommandContext(t.Context(), bash, "-c", script, "bash", line).Output()
		got := strings.TrimSpace(string(out))
		must.Be(t, err == nil && got == want, line, "completes to", got, err, "want", want)
	}
}
