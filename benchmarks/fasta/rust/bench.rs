//! fasta - write DNA sequences as lines of text: one by repeating a given piece,
//! two by choosing letters with a weighted random number.
//!
//!     parameter  n, 0 to 10000000: the sequences have 2n, 3n and 5n letters
//!     checksum   of the lines, from 0: 31 times the checksum so far plus the sum of
//!                the line's character codes, modulo 2 to the 32
//!
//! Based on the description in the Computer Language Benchmarks Game. Nothing is
//! printed, and each iteration starts from the same random seed.
use std::process::exit;
use std::sync::Mutex;

const LINE: usize = 60;
const MOST: i32 = 10000000;

const ALU: &[u8] = b"GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGG\
    GAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGA\
    CCAGCCTGGCCAACATGGTGAAACCCCGTCTCTACTAAAAAT\
    ACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCA\
    GCTACTCGGGAGGCTGAGGCAGGAGAATCGCTTGAACCCGGG\
    AGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCC\
    AGCCTGGGCGACAGAGCGAGACTCCGTCTCAAAAA";

/// Letters and their shares.
static IUB: [(u8, f64); 15] = [
    (b'a', 0.27),
    (b'c', 0.12),
    (b'g', 0.12),
    (b't', 0.27),
    (b'B', 0.02),
    (b'D', 0.02),
    (b'H', 0.02),
    (b'K', 0.02),
    (b'M', 0.02),
    (b'N', 0.02),
    (b'R', 0.02),
    (b'S', 0.02),
    (b'V', 0.02),
    (b'W', 0.02),
    (b'Y', 0.02),
];

static HOMO_SAPIENS: [(u8, f64); 4] = [
    (b'a', 0.3029549426680),
    (b'c', 0.1979883004921),
    (b'g', 0.1975473066391),
    (b't', 0.3015094502008),
];

/// The state of one iteration.
struct Writer {
    sum: u32,
    seed: i32,
}

impl Writer {
    /// Replaces printing.
    fn line(&mut self, text: &[u8]) {
        let codes: u32 = text.iter().map(|c| u32::from(*c)).sum();
        self.sum = self.sum.wrapping_mul(31).wrapping_add(codes);
    }

    /// Writes a number of letters, one after the other, in lines.
    fn write(&mut self, mut letters: usize, mut next: impl FnMut(&mut Self) -> u8) {
        let mut line = [0; LINE];
        while letters > 0 {
            let length = letters.min(LINE);
            for c in &mut line[..length] {
                *c = next(self);
            }
            self.line(&line[..length]);
            letters -= length;
        }
    }

    fn repeat(&mut self, piece: &[u8], letters: usize) {
        let mut at = 0;
        self.write(letters, |_| {
            let c = piece[at];
            at = if at + 1 == piece.len() { 0 } else { at + 1 };
            c
        });
    }

    /// In [0, 1), by a linear congruential generator that is the same everywhere.
    fn random(&mut self) -> f64 {
        self.seed = (self.seed * 3877 + 29573) % 139968;
        f64::from(self.seed) / 139968.0
    }

    /// Chooses the first letter whose cumulative share exceeds a random number.
    fn random_letters(&mut self, table: &[(u8, f64)], letters: usize) {
        let mut total = 0.0;
        let below: Vec<f64> = table
            .iter()
            .map(|(_, share)| {
                total += share;
                total
            })
            .collect();
        self.write(letters, |w| {
            let r = w.random();
            let mut i = 0;
            while i < table.len() - 1 && r >= below[i] {
                i += 1;
            }
            table[i].0
        });
    }
}

#[no_mangle]
pub extern "C" fn checksum(n: i32) -> f64 {
    if !(0..=MOST).contains(&n) {
        println!("fasta: parameter {} is not within 0 to {}", n, MOST);
        exit(1);
    }
    let letters = n as usize;
    let mut w = Writer { sum: 0, seed: 42 };
    w.line(b">ONE Homo sapiens alu");
    w.repeat(ALU, 2 * letters);
    w.line(b">TWO IUB ambiguity codes");
    w.random_letters(&IUB, 3 * letters);
    w.line(b">THREE Homo sapiens frequency");
    w.random_letters(&HOMO_SAPIENS, 5 * letters);
    f64::from(w.sum)
}

/// Known checksums; README.md lists their origin.
const KNOWN: [(i32, f64); 3] = [
    (1000, 3225012143_f64),
    (30000, 4059268609_f64),
    (100000, 3438851865_f64),
];

/// The parameter and checksum of the first iteration whose parameter is not in the table.
static FIRST: Mutex<Option<(i32, f64)>> = Mutex::new(None);

/// Returns the expected checksum for n: the known one, else that of the first iteration.
fn expected(n: i32, got: f64) -> f64 {
    if let Some(known) = KNOWN.iter().find(|known| known.0 == n) {
        return known.1;
    }
    let mut first = FIRST.lock().unwrap();
    match *first {
        Some((of, sum)) if of == n => sum,
        _ => {
            *first = Some((n, got));
            got
        }
    }
}

#[no_mangle]
pub extern "C" fn run_iter(n: i32) {
    let got = checksum(n);
    let want = expected(n, got);
    if got != want {
        println!("fasta: parameter {}: checksum {}, expected {}", n, got, want);
        exit(1);
    }
}
