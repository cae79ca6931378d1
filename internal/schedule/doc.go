// Package schedule stores the list of process executions of an experiment and their state in one
// file that survives power cuts.
//
// [Plan] orders the slots, [Create] writes the file once, and [Open] opens it. Each execution is
// then [Schedule.Begin], the run, [Schedule.Finish]. State that the next boot needs is stored in
// the [Header] with [Schedule.UpdateHeader]. [Repair] restores a damaged file from the results. The
// package does not know what an execution does and does not decide whether it runs.
//
// [NewSource] returns what a damaged schedule is rebuilt from: the plan follows from the
// configuration, the state of a slot from its records, and the contents of a lost header from both.
// krund repairs slots when it encounters them; `krunctl repair` repairs everything. An attempt
// without a record is lost: for that slot, or for all if neither copy of the header can be read,
// the count of attempts used by machine crashes starts over, but no measurement is lost or
// repeated.
//
// # The file
//
// The file is text, and its size never changes after creation, except by Extend, which replaces the
// file by a longer one. A sector is 512 bytes. Numbers are decimal, padded with zeros to a fixed
// number of digits.
//
//	offset 0            header copy A, first sector
//	offset 512          header copy B, first sector
//	offset 1024         the other S-1 sectors of copy A, then those of copy B
//	offset 1024 S       slot 0, slot 1, ... W bytes each
//
// A header copy has S sectors: 1, unless room for many base temperatures was requested. The size of
// the file is therefore 1024 S + W * slots bytes.
//
// # The header
//
// Both copies have the same contents, except for letter and generation:
//
//	krund-schedule=1                   magic and version of the format
//	copy=A                             or B
//	generation=NNNNNNNNNNNNNNNNNNNN    20 digits, grows by 1 with each update
//	sectors=NNN                        S
//	slots=NNNNNNNNNN                   number of slots, 10 digits
//	width=NNN                          W: 128, 256 or 512
//	next=NNNNNNNNNN                    0; earlier versions: no slot before it is unfinished
//	reboots=NNNNNNNNNN                 reboots requested
//	mails=NNNNNNNNNN                   mails sent
//	order=round-robin                  or interleaved, blocked
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
// Lines end with a newline (byte 10). The checksum is the CRC-32C (Castagnoli, as in iSCSI, RFC
// 3720) of all bytes of the copy before "crc=", in 8 lower-case hexadecimal digits. A copy is valid
// only if its checksum is correct and it is written in exactly this form. Of two valid copies, the
// one with the higher generation is used. An update overwrites the other one, so that one copy is
// valid whenever the power fails.
//
// # A slot
//
// A slot is a line of W bytes, where W is the smallest power of two that fits the longest key, so
// that no line spans two sectors:
//
//	byte 0              flag: O outstanding, R running, C completed, E error,
//	                    T timeout, S skipped
//	byte 2 to 4         attempts begun, 3 digits
//	byte 6 to 12        number of the process execution of this key, from 1, 7 digits
//	byte 14 to W-11     key, benchmark:vm:variant or, in an experiment with arms,
//	                    benchmark:vm:variant@arm, and spaces
//	byte W-9 to W-2     CRC-32C of bytes 0 to W-10, 8 lower-case hexadecimal digits
//	byte W-1            newline
//
// The bytes between are spaces. A slot is updated in place. Slots are stored in execution order.
//
// # Order of writes
//
// Begin writes the slot (R, attempt counted) and syncs; only then may the attempt start. Finish
// writes the slot and syncs. Which slot is next is not stored: each boot reads the slots up to the
// first unfinished one, 128 KiB of a thousand slots. Earlier versions wrote it to the header as a
// hint, which they did not trust; the field is written as 0, which tells them nothing.
//
// # The order of the slots
//
// round-robin: all keys in the order of the configuration, repeated once per process execution.
// interleaved: the same rounds, each in its own order:
//
//	the generator is PCG-DXSM with 128 bits of state (O'Neill's PCG with the
//	DXSM output; math/rand/v2.PCG), seeded with the experiment's seed as the high
//	and the number of the round, from 1, as the low half of the state;
//	list = 0, 1, ... n-1
//	for i = n-1 down to 1: swap list[i] and list[j], j drawn from 0 to i
//	draw from 0 to m-1: the high 64 bits of (64 random bits * m), drawn again
//	while the low 64 bits are less than 2^64 mod m
//
// blocked, for experiments with arms: the same rounds, each of which is a block with its own order:
//
//	the keys that differ only in their arm form a group; groups are numbered in
//	the order of their first key in the configuration, and the members of a group
//	have the order of the configuration
//	the list of the groups is shuffled as that of interleaved, with the generator
//	seeded in the same way
//	then, group by group in this new order, the members are shuffled, with
//	numbers that the same generator draws next
//
// An experiment that grows goes on with a further [Stage]: another configuration, and the number of
// the slot from which on it plans. The slots before that stay as they are: they end with the last
// one that was begun or, in an experiment with arms, with its block. After them come the executions
// that the new configuration plans and that are not among them:
//
//	first those of the round in which the last of these slots is, in the order of the new
//	configuration's round
//	then the other rounds in ascending order, each in the order of the new configuration's round;
//	if a part of one of them is among the slots before (the experiment has got further keys), these
//	rounds are shuffled, unless the order is round-robin, with the generator seeded with the seed as
//	the high and the complement of the number of the slots before as the low half
//
// testdata contains orders; they must never change.
//
// The random layout of a round is 16 times a number drawn from 0 to 255 in the same way, with the
// generator seeded with the complement of the experiment's seed and the number of the round. The
// seed of experiment.relink is the next number of that generator, from 0 to 2^31-1.
//
// Start reading at Open and Schedule.Begin.
package schedule
