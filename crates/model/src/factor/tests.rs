//! The rows.

use super::*;

#[test]
fn every_factor_has_one_row_and_writes_its_own_levels_the_same() {
    for (factor, row) in Factor::ALL.into_iter().zip(&FACTORS) {
        assert_eq!(factor.row().key, row.key);
        assert_eq!(Factor::parse(row.key), Ok(factor));
        if let Some(level) = row.usual {
            assert_eq!(factor.level(level).as_deref(), Ok(level));
        }
        let Some(plain) = &row.plain else { continue };
        let own = matches!(factor, Factor::Writers | Factor::Readers);
        let workload = if own { Workload::Shared } else { Workload::Latency };
        let mut case = Case::usual((), workload);
        let usual = row.usual.expect("a plain factor has a usual level");
        (plain.set)(&mut case, usual);
        assert_eq!(case, Case::usual((), workload), "{factor}");
        let of_usual = case.with(|()| "pipe".to_string());
        assert_eq!(factor.of(&of_usual).as_deref(), Some(usual));
        assert_eq!((plain.words)(&of_usual.with(|_| ())), "");
    }
}
