//! What an input is parsed into. An input that ends early goes on as zeroes, so that each is one.

use arbitrary::Unstructured;

/// The rest of an input.
pub struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    pub fn new(data: &'a [u8]) -> Input<'a> {
        Input(Unstructured::new(data))
    }

    /// Whether anything is left.
    pub fn goes_on(&self) -> bool {
        !self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or(0)
    }

    pub fn number(&mut self) -> u64 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.int_in_range(0..=end - 1).unwrap_or(0)
    }

    /// A number of 64 bits that is often at an edge.
    pub fn edge(&mut self) -> u64 {
        const EDGES: [u64; 8] =
            [0, 1, 0xff, 0xffff, u32::MAX as u64, 1 << 32, i64::MAX as u64, u64::MAX];
        match self.below(3) {
            0 => EDGES[self.below(EDGES.len())],
            1 => self.byte().into(),
            _ => self.number(),
        }
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// So many bytes at most, as many as a byte of the input says.
    pub fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        self.0.bytes(length).unwrap_or_default()
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let length = self.0.len();
        self.0.bytes(length).unwrap_or_default()
    }

    /// All that is left, as text.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.rest()).into_owned()
    }
}
