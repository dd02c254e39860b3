//! The SHA-256 digest that a content security policy names a script by (FIPS 180-4), here
//! because it is sixty lines and the alternative is to allow any inline script.

/// The digest of a script in base64, as the policy wants it.
pub(super) fn base64(script: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(44);
    for three in sha256(script.as_bytes()).chunks(3) {
        let byte = |at: usize| u32::from(*three.get(at).unwrap_or(&0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize] as char;
            out.push(if place > three.len() { '=' } else { letter });
        }
    }
    out
}

/// SHA-256 of some bytes.
pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let round = constants::<64>(1.0 / 3.0);
    let mut state = constants::<8>(1.0 / 2.0);
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if bytes.len() % 64 >= 56 {
        padded.resize(padded.len() + 64, 0);
    }
    let length = padded.len();
    padded[length - 8..].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        compress(&mut state, block, &round);
    }
    let mut digest = [0; 32];
    for (to, word) in digest.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

fn compress(state: &mut [u32; 8], block: &[u8], round: &[u32; 64]) {
    let mut w = [0u32; 64];
    for (word, bytes) in w.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for t in 16..64 {
        let (a, b) = (w[t - 15], w[t - 2]);
        let low = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let high = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        w[t] = w[t - 16].wrapping_add(low).wrapping_add(w[t - 7]).wrapping_add(high);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for t in 0..64 {
        let mixed = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let chosen = (e & f) ^ (!e & g);
        let one = [mixed, chosen, round[t], w[t]].into_iter().fold(h, u32::wrapping_add);
        let mixed = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let two = mixed.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e) = (g, f, e, d.wrapping_add(one));
        (d, c, b, a) = (c, b, a, one.wrapping_add(two));
    }
    for (kept, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *kept = kept.wrapping_add(new);
    }
}

/// The first 32 bits of the fractional parts of roots of the first primes; a double has 53
/// bits, and the largest root here takes four of them before the point.
fn constants<const N: usize>(power: f64) -> [u32; N] {
    let is_prime = |n: &u32| (2..*n).all(|d| !n.is_multiple_of(d));
    let mut primes = (2u32..).filter(is_prime);
    std::array::from_fn(|_| {
        let prime = f64::from(primes.next().unwrap_or(2));
        let root = if power == 0.5 { prime.sqrt() } else { prime.cbrt() };
        (root.fract() * 4_294_967_296.0) as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> String {
        sha256(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_vendored_library_is_the_one_that_is_documented() {
        let recorded = include_str!("../assets/README.md");
        assert!(recorded.contains(&hex(include_str!("../assets/echarts.min.js"))));
    }

    #[test]
    fn digests_match_the_published_ones() {
        // FIPS 180-4 examples, and the empty message as every browser's console prints it.
        assert_eq!(base64(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
    }
}
