package browser

import (
	"strings"
	"testing"

	"krund/rig/must"
)

// TestComplaints: what says something about a connection is not held against a page.
func TestComplaints(t *testing.T) {
	for text, want := range map[string]bool{
		`Network.loadingFailed {"type":"EventSource","errorText":"net::ERR_CONNECTION_CLOSED"}`: false,
		`Network.loadingFailed {"type":"EventSource","errorText":"net::ERR_ABORTED"}`:           false,
		`Network.loadingFailed {"type":"Script","errorText":"","canceled":true}`:                false,
		`Network.loadingFailed {"type":"Image","errorText":"net::ERR_BLOCKED_BY_CSP"}`:          true,
		`Network.loadingFailed {"type":"Script","errorText":"net::ERR_NAME_NOT_RESOLVED"}`:      true,
		`Log.entryAdded {"entry":{"source":"network","level":"error",` +
			`"text":"Failed to load resource: net::ERR_CONNECTION_RESET"}}`: false,
		`Log.entryAdded {"entry":{"source":"network","level":"error",` +
			`"text":"Failed to load resource: the server responded with a status of 404 (Not Found)"}}`: true,
		`Log.entryAdded {"entry":{"source":"security","level":"error","text":"Refused: net::ERR_ABORTED"}}`: true,
		`Log.entryAdded {"entry":{"source":"recommendation","level":"verbose","text":"password"}}`:          false,
		`Runtime.exceptionThrown {"exceptionDetails":{"text":"net::ERR_ABORTED"}}`:                          true,
		`Page.loadEventFired {"timestamp":1}`:                                                               false,
	} {
		method, params, _ := strings.Cut(text, " ")
		got := complains(event{Method: method, Params: []byte(params)})
		must.Equal(t, got, want, text)
	}
}
