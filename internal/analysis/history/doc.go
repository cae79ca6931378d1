// Package history finds when the speed of a key changed over the versions of a program.
//
// A version has some process executions of each key. Their mean, on a logarithmic scale, is one
// value: what differs between versions without a change, such as the layout of each build or the
// day of the measurement, is noise as well, so that a version is the unit of inference, and the
// differences between executions are a lower bound of its variance.
//
// The history is looked at after each version. For each earlier version an e-value measures the
// evidence that the level changed there; their sum is a Shiryaev-Roberts e-detector (Shin, Ramdas
// and Rinaldo 2022, "E-detectors: a nonparametric framework for sequential change detection"). It
// alerts when the sum reaches the number of keys divided by the rate of false alerts, so that all
// keys together have at most that rate per version on average, however often one looks. After an
// alert it is armed again, on the new level.
//
// What is found up to a version depends on no later version. Start reading at [Of]; detect.go has
// the detector, estimate.go sizes and intervals. docs/history.md explains the choices.
package history
