// Package schedule keeps the list of process executions of an experiment, and
// how far it is, in one file that survives power cuts.
//
// [Plan] puts the slots in order, [Create] writes the file once, [Open] opens
// it. Then each execution is [Schedule.Begin], the run, [Schedule.Finish]. What
// has to be known before the next boot goes into the [Header] with
// [Schedule.UpdateHeader]. [Repair] makes a damaged file whole from the results.
// Nothing here knows what a slot's execution is, or decides whether it is run.
//
// [NewSource] says what a damaged schedule is rebuilt from: the plan follows from the
// configuration, the state of a slot from its records, and the content of a lost header from both.
// krund repairs slots as it meets them, and `krunctl repair` repairs everything. An attempt without
// a record is lost: the limit of attempts that crashes of the machine may use starts anew for that
// slot, but no measurement is lost or repeated.
//
// # The file
//
// The file is text, and its size never changes after creation. A sector is 512
// bytes; numbers are decimal, padded with zeros to a fixed number of digits.
//
//	offset 0            header copy A, first sector
//	offset 512          header copy B, first sector
//	offset 1024         the other S-1 sectors of copy A, then those of copy B
//	offset 1024 S       slot 0, slot 1, ... W bytes each
//
// A header copy has S sectors: 1 unless room for many base temperatures was
// asked for. So the file has 1024 S + W slots bytes.
//
// # The header
//
// Both copies say the same, up to letter and age:
//
//	krund-schedule=1                   magic and version of the format
//	copy=A                             or B
//	generation=NNNNNNNNNNNNNNNNNNNN    20 digits, grows by 1 with each update
//	sectors=NNN                        S
//	slots=NNNNNNNNNN                   number of slots, 10 digits
//	width=NNN                          W: 128, 256 or 512
//	next=NNNNNNNNNN                    hint: no slot before this index is unfinished
//	reboots=NNNNNNNNNN                 reboots asked for
//	mails=NNNNNNNNNN                   mails sent
//	order=round-robin                  or interleaved
//	seed=NNNNNNNNNNNNNNNNNNNN          of the order, 20 digits
//	config=HEX                         SHA-256 of the configuration's text
//	created=2026-11-21T09:00:00Z       RFC 3339
//	boot=NAME                          boot used last, at most 40 bytes; or no line
//	temperature=45000 SENSOR           base temperature in thousandths of a degree
//	...                                Celsius and name; a line per sensor, or none
//	(padding up to the end of the copy less 14 bytes: spaces, but newlines as
//	the last bytes of sectors; then a newline)
//	crc=XXXXXXXX                       and a newline
//
// Lines end with a newline (byte 10). The checksum is CRC-32C (Castagnoli, as
// in iSCSI, RFC 3720) of all bytes of the copy before "crc=", in 8 lower-case
// hexadecimal digits. A copy counts only when its checksum is right and it is
// written exactly so. Of two that count the one with the higher generation
// does. An update writes the other one: whenever the power fails, one is whole.
//
// # A slot
//
// A line of W bytes, W the least power of two that has room for the longest
// key, so that no line is in two sectors:
//
//	byte 0              flag: O outstanding, R running, C completed, E error,
//	                    T timeout, S skipped
//	byte 2 to 4         attempts begun, 3 digits
//	byte 6 to 12        number of the process execution of this key, from 1, 7 digits
//	byte 14 to W-11     key, benchmark:vm:variant, and spaces
//	byte W-9 to W-2     CRC-32C of bytes 0 to W-10, 8 lower-case hexadecimal digits
//	byte W-1            newline
//
// The bytes between are spaces. A slot is updated in place. Slots lie in the
// order of running.
//
// # Order of writes
//
// Begin writes the slot (R, attempt counted) and syncs; only then may the
// attempt start. Finish writes the slot and syncs, then the header with the new
// hint, and syncs. So the hint may lag, by one slot after a crash, but is never
// ahead; where a slot before the hint is to become unfinished again, the hint
// goes back first, in both copies. A reader nevertheless looks at the slots
// before the hint (256 KiB of them) before believing it, and at all slots
// before it says that nothing is left.
//
// # The order of the slots
//
// round-robin: all keys in the order of the configuration, then all again, as
// often as there are process executions. interleaved: the same rounds, each in
// an order of its own:
//
//	the generator is PCG-DXSM with 128 bits of state (O'Neill's PCG with the
//	DXSM output; math/rand/v2.PCG), seeded with the experiment's seed as the high
//	and the number of the round, from 1, as the low half of the state;
//	list = 0, 1, ... n-1
//	for i = n-1 down to 1: swap list[i] and list[j], j drawn from 0 to i
//	draw from 0 to m-1: the high 64 bits of (64 random bits * m), drawn again
//	while the low 64 bits are less than 2^64 mod m
//
// testdata holds an order; it must never change.
//
// Start reading at Open and Schedule.Begin.
package schedule
