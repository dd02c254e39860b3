//! Where message buffers begin.

const LINE: usize = 64;
const PAGE: usize = 4096;

/// Where message buffers begin within a cache line. Some processors copy several times as fast from one place as from
/// another, so it is the same for all launches; which line of the page it is, is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alignment {
    /// 16 bytes into a line, where malloc(3) of the GNU C library puts large blocks.
    #[default]
    Malloc,
}

impl Alignment {
    /// Lines of a page.
    pub const LINES: usize = PAGE / LINE;

    /// Where in a page a buffer begins that begins in its line `line`.
    pub const fn offset(self, line: usize) -> usize {
        match self {
            Alignment::Malloc => 16 + LINE * (line % Self::LINES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_begins_in_its_page_as_a_large_block_of_malloc_does() {
        let offsets: Vec<usize> =
            (0..Alignment::LINES).map(|line| Alignment::default().offset(line)).collect();
        assert_eq!((offsets[0], offsets[1], offsets.last()), (16, 80, Some(&4_048)));
        assert!(offsets.iter().all(|offset| offset % 64 == 16));
    }
}
