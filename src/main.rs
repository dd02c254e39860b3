//! The program: parse, dispatch, exit code.

fn main() {}
