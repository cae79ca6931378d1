package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestReadHistory: a table of nights is read into versions in its order, with a key on each
// machine; what is wrong in it is named with its line.
func TestReadHistory(t *testing.T) {
	v, is, err := ReadHistory([]byte(nightHeader + "\nn1,r,m,a,2,ms\nn1,r,m,a,4,ms\nn2,r,o,a,3,ms\n" +
		"n2,r,m,b:C:x,1,s\n"))
	must.Do(t, err)
	must.Equal(t, is, true)
	must.Equal(t, string(must.Get(json.Marshal(v))(t)), `{"unit":"s","versions":[`+
		`{"label":"n1","source":"revision","revision":"r"},{"label":"n2","source":"revision","revision":"r"}],`+
		`"keys":[{"key":"a:default:default","machine":"m","values":[[0.002,0.004],null]},`+
		`{"key":"a:default:default","machine":"o","values":[null,[0.003]]},`+
		`{"key":"b:C:x","machine":"m","values":[null,[1]]}]}`)
	for text, want := range map[string]string{
		"":                                  "no values",
		"n1,r,m,a,fast,s\n":                 "line 2: \"fast\" is not a value",
		"n1,r,m,a,1,MB\n":                   "no unit of time",
		"n1,r,m,,1,s\n":                     "no key",
		"n1,r,m,a,1,s\nn1,q,m,a,1,s\n":      "line 3: version \"n1\" is of revision",
		"n1,r,m,a,1,s\nn1,r,m,a,1,s,more\n": "wrong number of fields",
	} {
		_, is, err := ReadHistory([]byte(nightHeader + "\n" + text))
		must.Be(t, !is && err != nil && strings.Contains(err.Error(), want), text, is, err)
	}
}

func FuzzReadHistory(f *testing.F) {
	f.Add([]byte(nightHeader + "\nn1,r,m,a,2,ms\nn2,,,b,2,s\n"))
	f.Add([]byte(`{"unit":"s","versions":[{"label":"a"}],"keys":[{"key":"b","values":[[1]]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, is, err := ReadHistory(text)
		must.Be(t, !is || err == nil, err)
		for _, k := range v.Keys {
			must.Be(t, !is || len(k.Values) == len(v.Versions), k)
		}
	})
}
