//! binary_trees - build many perfect binary trees, count their nodes, and discard
//! them, while a large one stays alive.
//!
//!     parameter  depth of the large tree, 6 to 24 (smaller ones count as 6)
//!     checksum   the total number of nodes of all trees
//!
//! Based on the description in the Computer Language Benchmarks Game.
use std::process::exit;
use std::sync::Mutex;

const LEAST: i32 = 4;
const MOST: i32 = 24;

struct Node {
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
}

fn make(depth: i32) -> Box<Node> {
    let child = || if depth > 0 { Some(make(depth - 1)) } else { None };
    Box::new(Node { left: child(), right: child() })
}

fn count(n: &Node) -> i64 {
    match (&n.left, &n.right) {
        (Some(left), Some(right)) => 1 + count(left) + count(right),
        _ => 1,
    }
}

#[no_mangle]
pub extern "C" fn checksum(n: i32) -> f64 {
    if n > MOST {
        println!("binary_trees: parameter {} is above {}", n, MOST);
        exit(1);
    }
    let most = n.max(LEAST + 2);
    let mut nodes = count(&make(most + 1));
    let large = make(most);
    for depth in (LEAST..=most).step_by(2) {
        for _ in 0..1 << (most - depth + LEAST) {
            nodes += count(&make(depth));
        }
    }
    (nodes + count(&large)) as f64
}

/// Known checksums; README.md lists their origin.
const KNOWN: [(i32, f64); 3] = [
    (10, 135854_f64),
    (12, 674478_f64),
    (14, 3222190_f64),
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
        println!("binary_trees: parameter {}: checksum {}, expected {}", n, got, want);
        exit(1);
    }
}
