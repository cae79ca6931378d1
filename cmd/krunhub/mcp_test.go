package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/hubtest"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestMCP: a program reads and submits by the Model Context Protocol what its token permits.
func TestMCP(t *testing.T) {
	h := hubtest.New(t)
	h.Machine(t, "lab1")
	dir := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(dir, "benchmarks", "sort"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "benchmarks", "sort", "bench.py"), []byte("#\n"), 0o644))
	file := filepath.Join(dir, "sorting.toml")
	must.Do(t, os.WriteFile(file, []byte("[experiment]\nexecutions = 2\nreboot = \"none\"\n"+
		"account = \"caller\"\nbenchmarks = \"benchmarks\"\n[vms.Python]\nrunner = \"python\"\n"+
		"path = \"python3\"\nvariants = [\"default\"]\n[variants.default]\nentry = \"bench.py\"\n"+
		"[benchmarks]\nsort = { parameter = 1 }\n"), 0o644))
	call := func(client *api.Client, tool string, arguments any) (string, bool) {
		ours, theirs := mcp.NewInMemoryTransports()
		server := must.Get(mcpServer(client, sysroot.RealClock{}).Connect(t.Context(), ours, nil))(t)
		defer server.Wait()
		session := must.Get(mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), theirs,
			nil))(t)
		defer session.Close()
		result := must.Get(session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool,
			Arguments: arguments}))(t)
		text, ok := result.Content[0].(*mcp.TextContent)
		must.Need(t, ok && len(result.Content) == 1, result)
		return text.Text, !result.IsError
	}
	reader, user := h.Client(t, "eve", access.Reader), h.Client(t, "ann", access.User)
	text, ok := call(reader, "read", readInput{"machines"})
	must.Need(t, ok, text)
	must.Contain(t, text, `"name": "lab1"`)
	text, ok = call(reader, "read", readInput{"machines/none"})
	must.Be(t, !ok, text)
	for _, path := range []string{"machines?after=a", "/api/v1/experiments?skip=0", "history"} {
		text, ok = call(reader, "read", readInput{path})
		must.Be(t, ok, path, text)
	}
	for _, path := range []string{"../../tokens", "/api/v1/../../tokens", "machines/../tokens", "machines/..",
		"%2e%2e/%2e%2e/tokens", "machines/%2e%2e", "now/../../../live", "tokens", "runs", "//hub/tokens", ".",
		"", "http://hub/api/v1/now", "machines/a/../../tokens", "\x00", "%zz"} {
		text, ok = call(reader, "read", readInput{path})
		must.Be(t, !ok && strings.Contains(text, "is none of the paths"), path, text)
	}
	text, ok = call(reader, "submit", submitInput{File: file, To: "lab1"})
	must.Be(t, !ok, "a reader submits", text)
	id, ok := call(user, "submit", submitInput{File: file, To: "lab1"})
	must.Need(t, ok, id)
	var state api.State
	must.Do(t, user.Do(t.Context(), http.MethodGet, api.PathExperiments+"/"+id, nil, &state))
	must.Equal(t, state.State, "queued")
}
