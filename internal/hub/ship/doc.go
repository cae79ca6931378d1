// Package ship sends what an experiment has recorded to a hub (krunctl hub ship).
//
// Nothing is removed here, and nothing is believed to have arrived before the hub's receipt. The
// file hub.json of the experiment's directory remembers what the hub has; it is written after the
// receipt, so that a crash in between sends a record again, which changes nothing. If it is lost,
// the hub is asked which records it has. A record is identified by machine, experiment, slot and
// attempt, never by a time: clocks may be wrong.
//
// Start reading at [Shipper.Ship].
package ship
