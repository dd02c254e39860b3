//! What ratios are to, which nobody chooses by looking.

/// Of variants, in the order of the request: the one that was `asked` for, or the first of that mechanism; else `pipe`, or
/// `tcp` where the two halves are on different hosts; else the first.
pub fn chosen<'a>(
    variants: impl Iterator<Item = &'a str> + Clone,
    local: bool,
    asked: Option<&str>,
) -> Option<usize> {
    let mechanism = |variant: &'a str| variant.split(':').next();
    let named = |name: &str| {
        let exactly = variants.clone().position(|variant| variant == name);
        exactly.or_else(|| variants.clone().position(|variant| mechanism(variant) == Some(name)))
    };
    let usual = if local { "pipe" } else { "tcp" };
    let first = variants.clone().next().map(|_| 0);
    asked.and_then(named).or_else(|| named(usual)).or(first)
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn what_was_asked_for_comes_before_the_usual_and_that_before_the_first() {
        let of = |asked, local| {
            let variants = ["udp", "tcp:nodelay=off", "pipe", "tcp"];
            chosen(variants.into_iter(), local, asked)
        };
        assert_eq!((of(None, true), of(None, false)), (Some(2), Some(3)));
        assert_eq!((of(Some("tcp"), true), of(Some("tcp:nodelay=off"), true)), (Some(3), Some(1)));
        assert_eq!(chosen(["tcp:nodelay=off", "udp"].into_iter(), true, Some("tcp")), Some(0));
        assert_eq!(chosen(["udp"].into_iter(), true, Some("fifo")), Some(0));
        assert_eq!(chosen([].into_iter(), true, None), None);
    }
}
