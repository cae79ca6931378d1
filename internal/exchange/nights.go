package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/history"
)

// NightColumns are those of the table of nights: a time of a key in a version on a machine, the
// oldest version first. Several of a key and version are its executions. revision and machine may
// be empty.
var NightColumns = strings.Split(nightHeader, ",")

const nightHeader = "version,revision,machine,key,value,unit"

// ReadHistory reads what a history is made from: history.Values as JSON, or a table of nights. is
// reports whether the text is either. The error wraps ErrFormat.
func ReadHistory(text []byte) (v history.Values, is bool, err error) {
	if !bytes.HasPrefix(bytes.TrimPrefix(text, []byte(byteOrderMark)), []byte(nightHeader)) {
		return history.ParseValues(text)
	}
	const most = 1 << 23 // versions times keys
	names := gatherer{vm: "default", names: map[string]*namer{}}
	v.Unit = dataset.Seconds
	versions, keys := map[string]int{}, map[[2]string]int{}
	err = eachRow(bytes.NewReader(text), NightColumns, func(cells []string) error {
		for i := range cells {
			cells[i] = strings.Clone(cells[i])
		}
		value, err := strconv.ParseFloat(cells[4], 64)
		if err != nil {
			return fmt.Errorf("%.40q is not a value", cells[4])
		}
		times, isTime := inSeconds([]float64{value}, cells[5])
		at, ok := versions[cells[0]]
		switch {
		case cells[0] == "" || cells[3] == "":
			return errors.New("there is no version or no key")
		case !isTime:
			return fmt.Errorf("%.20q is no unit of time, such as s, ms or ns", cells[5])
		case !ok:
			at = len(v.Versions)
			versions[cells[0]] = at
			version := history.Version{Label: cells[0], Source: history.SourceName, Revision: cells[1]}
			if cells[1] != "" {
				version.Source = history.SourceRevision
			}
			v.Versions = append(v.Versions, version)
		case v.Versions[at].Revision != cells[1]:
			return fmt.Errorf("version %.40q is of revision %.40q, and was of %.40q: give each night of a "+
				"revision a version of its own, such as its date", cells[0], cells[1],
				v.Versions[at].Revision)
		}
		id := [2]string{cells[3], cells[2]}
		k, ok := keys[id]
		if !ok {
			k = len(v.Keys)
			keys[id] = k
			v.Keys = append(v.Keys, history.Key{Name: names.key(place{benchmark: cells[3]}).String(),
				Machine: cells[2]})
		}
		if len(v.Versions)*len(v.Keys) > most {
			return fmt.Errorf("there are more than %d keys times versions", most)
		}
		of := &v.Keys[k]
		of.Values = append(of.Values, make([][]float64, max(0, at+1-len(of.Values)))...)
		of.Values[at] = append(of.Values[at], times...)
		return nil
	})
	if err == nil && len(v.Keys) == 0 {
		err = fmt.Errorf("%w: the table has no values", ErrFormat)
	}
	for i := range v.Keys {
		k := &v.Keys[i]
		k.Values = append(k.Values, make([][]float64, len(v.Versions)-len(k.Values))...)
	}
	return v, err == nil, err
}
