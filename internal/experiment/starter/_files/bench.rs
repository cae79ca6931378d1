// Computes Fibonacci numbers: replace it by what you want to measure. run_iter is called once per
// iteration and timed; its argument is the parameter in the configuration.
fn fib(k: i32) -> i64 {
    if k < 2 { k as i64 } else { fib(k - 1) + fib(k - 2) }
}

#[no_mangle]
pub extern "C" fn run_iter(n: i32) {
    let result = fib(std::hint::black_box(n));
    assert!(result >= (n - 1) as i64); // a wrong result is no measurement
}
