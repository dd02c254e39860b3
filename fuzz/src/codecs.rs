//! Every code's decoder: datagrams that are lost, doubled, cut off or changed. What was only lost comes back
//! as it was sent, or not at all; payloads whose bits flip are recovered as sent, or known to be wrong.

use std::cell::RefCell;
use std::collections::HashMap;

use codes::{Coder, Detected, FlipTrace, LossModel, LossTrace, Recovery, Scheme, Shield};

use crate::input::Input;

thread_local! {
    /// What takes long to make, by its scheme.
    static CODERS: RefCell<HashMap<Scheme, Coder>> = RefCell::default();
}

pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.below(4) {
        0 => traces(&mut input),
        1 => shield(&mut input),
        _ => block(&mut input),
    }
}

fn scheme(input: &mut Input) -> Scheme {
    let (data, repair) = (1 + input.below(24), 1 + input.below(16));
    let shape = format!("reed-solomon-{data}-{repair}");
    let names = ["hamming-7-4", "hamming-8-4", "golay-24-12", "raptorq", &shape];
    Scheme::parse(names[input.below(names.len())]).expect("a scheme's name")
}

fn block(input: &mut Input) {
    let scheme = scheme(input);
    let block: Vec<u8> = (0..input.below(600)).map(|_| input.byte()).collect();
    CODERS.with_borrow_mut(|coders| {
        if coders.len() > 64 {
            coders.clear();
        }
        let coder = coders.entry(scheme).or_insert_with(|| Coder::new(scheme));
        let mut sent = vec![Vec::new(); scheme.total_shards()];
        coder.encode(&block, &mut sent);
        // Per datagram: there, lost, cut off, or changed.
        let mut changed = false;
        let mut arrived: Vec<Option<Vec<u8>>> = Vec::new();
        for datagram in &sent {
            let mut datagram = datagram.clone();
            arrived.push(match input.byte() % 8 {
                0..5 => Some(datagram),
                5 => None,
                6 => {
                    datagram.truncate(input.below(datagram.len() + 1));
                    Some(datagram)
                }
                _ => {
                    let at = input.below(datagram.len());
                    datagram[at] ^= input.byte();
                    changed = true;
                    Some(datagram)
                }
            });
        }
        let received: Vec<Option<&[u8]>> =
            arrived.iter().map(|datagram| datagram.as_deref()).collect();
        let mut into = vec![0; block.len()];
        match coder.decode(&received, &mut into) {
            Ok(()) => assert!(changed || into == block, "{scheme}: another block came back"),
            Err(missing) => assert!(missing.arrived <= missing.total, "{missing}"),
        }
    });
}

fn shield(input: &mut Input) {
    let names = ["hamming-7-4", "hamming-8-4", "golay-24-12"];
    let scheme = Scheme::parse(names[input.below(3)]).expect("a scheme's name");
    let shield = Shield::new(scheme).expect("it mends bits");
    let payload = input.bytes().to_vec();
    let mut datagram = shield.protect(&payload);
    assert_eq!(datagram.len(), shield.datagram_bytes(payload.len()));
    let length = if input.below(8) == 0 { input.below(2_000) } else { payload.len() };
    let mut flips = 0;
    while input.goes_on() && flips < 64 && !datagram.is_empty() {
        let at = input.below(8 * datagram.len());
        datagram[at / 8] ^= 1 << (at % 8);
        flips += 1;
    }
    match shield.recover(&datagram, length) {
        Recovery::Recovered { payload: found, .. } => {
            assert_eq!(found.len(), length);
            // A receiver that expects another length than was sent may find a checksum that fits there.
            assert!(
                flips > 0 || length != payload.len() || found == payload,
                "{scheme}: of {payload:?} came {found:?}"
            );
        }
        Recovery::Detected(why) => {
            assert!(
                flips > 0 || length != payload.len(),
                "{scheme}: {why:?} where nothing flipped"
            );
            let _ = why == Detected::Code;
        }
    }
    // And bytes that no shield made.
    let _ = shield.recover(payload.as_slice(), length);
}

fn traces(input: &mut Input) {
    let share = |input: &mut Input| f64::from_bits(input.edge());
    let (mean, burst, seed) = (share(input), share(input), input.number());
    if let Ok(model) = LossModel::new(mean, burst) {
        assert_eq!(LossTrace::new(model, seed).take(100).count(), 100);
    }
    let small = f64::from(input.byte()) / 255.0;
    if let Ok(model) = LossModel::new(small, 1.0 + f64::from(input.byte())) {
        let _ = LossTrace::new(model, seed).take(100).filter(|place| *place).count();
    }
    for share in [mean, small] {
        if let Ok(mut flips) = FlipTrace::new(share, seed) {
            let mut bytes = input.bytes().to_vec();
            let most = 8 * bytes.len() as u64;
            assert!(flips.flip(&mut bytes) <= most);
        }
    }
}
