//! fannkuch_redux - for every permutation of 0 to n-1: reverse the first k+1
//! elements, k being the first, until that is 0, and count the reversals.
//!
//!     parameter  n, 1 to 12
//!     checksum   1000 times the sum of the counts with alternating sign, plus the
//!                largest count
//!
//! Based on the description in the Computer Language Benchmarks Game; its order of
//! the permutations decides the signs.
use std::process::exit;
use std::sync::Mutex;

const MOST: usize = 12;

/// Counts the reversals of a permutation without modifying it.
fn flips(permutation: &[usize]) -> i64 {
    let mut copied = [0; MOST];
    let p = &mut copied[..permutation.len()];
    p.copy_from_slice(permutation);
    let mut count = 0;
    while p[0] != 0 {
        let (mut i, mut j) = (0, p[0]);
        while i < j {
            p.swap(i, j);
            i += 1;
            j -= 1;
        }
        count += 1;
    }
    count
}

/// Makes the next permutation: the first r+1 elements rotate to the left, r
/// starting at 1 and growing each time that r's turns are used up. Returns false
/// after the last one.
fn next(permutation: &mut [usize], turns: &mut [usize]) -> bool {
    for r in 1..permutation.len() {
        let first = permutation[0];
        permutation.copy_within(1..=r, 0);
        permutation[r] = first;
        turns[r] -= 1;
        if turns[r] > 0 {
            return true;
        }
        turns[r] = r + 1;
    }
    false
}

#[no_mangle]
pub extern "C" fn checksum(n: i32) -> f64 {
    if !(1..=MOST as i32).contains(&n) {
        println!("fannkuch_redux: parameter {} is not within 1 to {}", n, MOST);
        exit(1);
    }
    let mut permutation: Vec<usize> = (0..n as usize).collect();
    let mut turns: Vec<usize> = (1..=n as usize).collect();
    let (mut sum, mut most, mut sign) = (0, 0, 1);
    loop {
        let count = flips(&permutation);
        sum += sign * count;
        sign = -sign;
        most = most.max(count);
        if !next(&mut permutation, &mut turns) {
            return (sum * 1000 + most) as f64;
        }
    }
}

/// Known checksums; README.md lists their origin.
const KNOWN: [(i32, f64); 4] = [
    (7, 228016_f64),
    (8, 1616022_f64),
    (9, 8629030_f64),
    (10, 73196038_f64),
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
        println!("fannkuch_redux: parameter {}: checksum {}, expected {}", n, got, want);
        exit(1);
    }
}
