//! The object of the kernel's programs, cut off and changed, and what the programs write into the ring.

use machine::trace::{BUILT, Object, decompose, events};

use crate::input::Input;

pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.below(4) {
        0 => read(input.rest()),
        1 => ring(&mut input),
        _ => {
            let mut bytes = BUILT.to_vec();
            if input.below(4) == 0 {
                bytes.truncate(input.below(BUILT.len()));
            }
            while input.goes_on() && !bytes.is_empty() {
                let at = changed(&mut input, &bytes);
                let new = match input.below(3) {
                    0 => input.edge().to_le_bytes().to_vec(),
                    1 => vec![input.byte()],
                    _ => (input.edge() as u32).to_le_bytes().to_vec(),
                };
                for (to, from) in bytes[at..].iter_mut().zip(new) {
                    *to = from;
                }
            }
            read(&bytes);
        }
    }
}

/// Where something is changed: often in the header, or in the table of sections.
fn changed(input: &mut Input, bytes: &[u8]) -> usize {
    let table =
        bytes.get(40..44).and_then(|byte| byte.try_into().ok()).map_or(0, u32::from_le_bytes);
    let table = (table as usize).min(bytes.len());
    let at = match input.below(3) {
        0 => input.below(64),
        1 => table + input.below((bytes.len() - table).max(1)),
        _ => input.below(bytes.len()),
    };
    at.min(bytes.len() - 1)
}

fn read(bytes: &[u8]) {
    let Ok(object) = Object::read(bytes) else { return };
    for program in &object.programs {
        let code = program.bound(|_| 3);
        assert!(code.len() <= bytes.len());
    }
}

fn ring(input: &mut Input) {
    let mut written = Vec::new();
    let mut at: u64 = 0;
    let starts: Vec<f64> = (0..input.below(5)).map(|byte| byte as f64 * 50.0).collect();
    while input.goes_on() {
        at = at.wrapping_add(if input.below(16) == 0 {
            input.edge()
        } else {
            input.below(40) as u64
        });
        written.extend(at.to_le_bytes());
        written.extend([input.below(11) as u8, input.below(2) as u8]);
        written.extend((input.below(3) as u16).to_le_bytes());
        let value = if input.below(4) == 0 { input.edge() as u32 } else { input.below(3) as u32 };
        written.extend(value.to_le_bytes());
    }
    let found = events(&written);
    if let Some(trips) = decompose(&found, &starts) {
        assert!(serde_json::to_string(&trips).is_ok());
    }
    let _ = decompose(&found, &[]);
}
