package changepoint

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
)

// Penalty is the penalty of a changepoint. The zero value is a penalty of 0.
type Penalty struct {
	kind  penaltyKind
	value float64
}

type penaltyKind int

const (
	manual penaltyKind = iota
	timesLogN
	sic
	mbic
	aic
	hannanQuinn
	crops
)

var penaltyNames = map[penaltyKind]string{sic: "sic", mbic: "mbic", aic: "aic", hannanQuinn: "hannan-quinn",
	crops: "crops"}

// Manual is a fixed penalty.
func Manual(value float64) Penalty { return Penalty{manual, value} }

// LogN is a penalty of coefficient × log n, where n is the number of values analyzed (after
// outliers are removed). The study uses LogN(15).
func LogN(coefficient float64) Penalty { return Penalty{timesLogN, coefficient} }

// R's named penalties, where p is the number of parameters a change adds (2 for MeanVariance, else
// 1).
var (
	SIC         = Penalty{kind: sic}         // (p+1) log n; BIC is another name
	MBIC        = Penalty{kind: mbic}        // (p+2) log n, and each segment costs the log of its length more
	AIC         = Penalty{kind: aic}         // 2 (p+1)
	HannanQuinn = Penalty{kind: hannanQuinn} // 2 (p+1) log log n
)

// CROPS chooses the penalty for each series at the knee of the curve of changepoints against
// penalty, between 4 log n and 100,000 log n (Traini et al. 2023): see [Knee].
var CROPS = Penalty{kind: crops}

// String returns the form that ParsePenalty parses.
func (p Penalty) String() string {
	value := strconv.FormatFloat(p.value, 'g', -1, 64)
	switch p.kind {
	case manual:
		return value
	case timesLogN:
		return value + "logn"
	}
	return penaltyNames[p.kind]
}

// MarshalText returns the text of String.
func (p Penalty) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses text with ParsePenalty.
func (p *Penalty) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePenalty(string(text))
	return err
}

// ParsePenalty parses a penalty ("120"), a multiple of log n ("15logn", "15 log n"), or a name:
// sic, bic, mbic, aic, hannan-quinn, crops.
func ParsePenalty(s string) (Penalty, error) {
	text := strings.ToLower(strings.ReplaceAll(s, " ", ""))
	if text == "bic" {
		return SIC, nil
	}
	for kind, name := range penaltyNames {
		if text == name {
			return Penalty{kind: kind}, nil
		}
	}
	number, isLog := strings.CutSuffix(text, "logn")
	v, err := strconv.ParseFloat(strings.TrimSuffix(number, "*"), 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return Penalty{}, fmt.Errorf("penalty %q: write a number, a multiple of log n such as 15logn, sic, "+
			"mbic, aic, hannan-quinn or crops", s)
	}
	if isLog {
		return LogN(v), nil
	}
	return Manual(v), nil
}

// penalty is the penalty's value for a series of n values (R: penalty_decision).
func (p Penalty) penalty(n int, cost Cost) (float64, error) {
	parameters := 1.0
	if cost == MeanVariance {
		parameters = 2
	}
	logN := arith.Log(float64(n))
	v := p.value
	switch p.kind {
	case timesLogN:
		v = p.value * logN
	case sic:
		v = (parameters + 1) * logN
	case mbic:
		v = (parameters + 2) * logN
	case aic:
		v = 2 * (parameters + 1)
	case hannanQuinn:
		v = 2 * (parameters + 1) * arith.Log(logN)
	}
	if !(v >= 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("penalty %v is %v for %d values: %w", p, v, n, ErrOptions)
	}
	return v, nil
}
