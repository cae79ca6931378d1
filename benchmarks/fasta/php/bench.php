<?php
/*
 * fasta - write DNA sequences as lines of text: one by repeating a given piece,
 * two by choosing letters with a weighted random number.
 *
 * parameter  n, 0 to 10000000: the sequences have 2n, 3n and 5n letters
 * checksum   of the lines, from 0: 31 times the checksum so far plus the sum of
 *            the line's character codes, modulo 2 to the 32
 *
 * Based on the description in the Computer Language Benchmarks Game. Nothing is
 * printed, and each iteration starts from the same random seed. For PHP 7.4 and
 * later.
 */

const LINE = 60;
const MOST = 10000000;

const ALU =
    'GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGG' .
    'GAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGA' .
    'CCAGCCTGGCCAACATGGTGAAACCCCGTCTCTACTAAAAAT' .
    'ACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCA' .
    'GCTACTCGGGAGGCTGAGGCAGGAGAATCGCTTGAACCCGGG' .
    'AGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCC' .
    'AGCCTGGGCGACAGAGCGAGACTCCGTCTCAAAAA';

// Letters with their shares.
const IUB = [
    'a' => 0.27, 'c' => 0.12, 'g' => 0.12, 't' => 0.27, 'B' => 0.02,
    'D' => 0.02, 'H' => 0.02, 'K' => 0.02, 'M' => 0.02, 'N' => 0.02,
    'R' => 0.02, 'S' => 0.02, 'V' => 0.02, 'W' => 0.02, 'Y' => 0.02,
];

const HOMO_SAPIENS = [
    'a' => 0.3029549426680, 'c' => 0.1979883004921, 'g' => 0.1975473066391, 't' => 0.3015094502008,
];

/* The state of one iteration. */
final class Writer
{
    public int $sum = 0;
    private int $seed = 42;

    /* Replaces printing. */
    public function write(string $line): void
    {
        $codes = 0;
        for ($i = 0, $length = strlen($line); $i < $length; $i++) {
            $codes += ord($line[$i]);
        }
        $this->sum = ($this->sum * 31 + $codes) % 4294967296;
    }

    /* In [0, 1): a linear congruential generator of small numbers, the same
     * everywhere. */
    public function random_share(): float
    {
        $this->seed = ($this->seed * 3877 + 29573) % 139968;
        return $this->seed / 139968.0;
    }
}

function repeat(Writer $writer, string $piece, int $letters): void
{
    $endless = $piece . substr($piece, 0, LINE);
    $at = 0;
    while ($letters > 0) {
        $length = min($letters, LINE);
        $writer->write(substr($endless, $at, $length));
        $at = ($at + $length) % strlen($piece);
        $letters -= $length;
    }
}

/* The first letter whose cumulative share exceeds a random number. */
function choose(Writer $writer, array $names, array $below): string
{
    $r = $writer->random_share();
    $last = count($names) - 1;
    $i = 0;
    while ($i < $last && $r >= $below[$i]) {
        $i++;
    }
    return $names[$i];
}

function random_letters(Writer $writer, array $shares, int $letters): void
{
    $names = array_keys($shares);
    $below = [];
    $total = 0.0;
    foreach ($shares as $share) {
        $total += $share;
        $below[] = $total;
    }
    while ($letters > 0) {
        $length = min($letters, LINE);
        $line = '';
        for ($i = 0; $i < $length; $i++) {
            $line .= choose($writer, $names, $below);
        }
        $writer->write($line);
        $letters -= $length;
    }
}

function checksum($n)
{
    if ($n < 0 || $n > MOST) {
        printf("fasta: parameter %d is not within 0 to %d\n", $n, MOST);
        exit(1);
    }
    $writer = new Writer();
    $writer->write('>ONE Homo sapiens alu');
    repeat($writer, ALU, 2 * $n);
    $writer->write('>TWO IUB ambiguity codes');
    random_letters($writer, IUB, 3 * $n);
    $writer->write('>THREE Homo sapiens frequency');
    random_letters($writer, HOMO_SAPIENS, 5 * $n);
    return $writer->sum;
}

/* Returns the expected checksum for n. Known ones are in the table; README.md lists
 * their origin. Checksums of other parameters are those of their first iteration. */
function expected($n, $got)
{
    static $known = [
        1000 => 3225012143,
        30000 => 4059268609,
        100000 => 3438851865,
    ];
    return $known[$n] ??= $got;
}

function run_iter($n)
{
    $got = checksum($n);
    $want = expected($n, $got);
    if ($got != $want) {
        printf("fasta: parameter %d: checksum %.17g, expected %.17g\n", $n, $got, $want);
        exit(1);
    }
}
