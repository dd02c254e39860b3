//! What chance allows of a count.

/// The counts that hold 99 % of a binomial distribution, at most 0.5 % left out at either end.
pub fn range_99(n: u64, p: f64) -> std::ops::RangeInclusive<u64> {
    let (mut log_term, mut sum) = (n as f64 * (1.0 - p).ln(), 0.0);
    let (mut low, mut k) = (None, 0);
    loop {
        sum += f64::exp(log_term);
        if low.is_none() && sum > 0.005 {
            low = Some(k);
        }
        if sum >= 0.995 {
            return low.expect("a lower end")..=k;
        }
        log_term += (((n - k) as f64) / ((k + 1) as f64) * p / (1.0 - p)).ln();
        k += 1;
    }
}
