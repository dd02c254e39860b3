//! Where message buffers begin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named;

const LINE: usize = 64;
const PAGE: usize = 4096;

/// Where message buffers begin within a cache line. Some processors copy several times as fast from one place as from
/// another, so it is the same for all launches; which line of the page it is, is drawn.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Alignment {
    /// 16 bytes into a line, where malloc(3) of the GNU C library puts large blocks.
    #[default]
    Malloc,
    /// With a line.
    Line,
    /// With a page: always the same line of it.
    Page,
}

named!(Alignment {
    Malloc => "malloc",
    Line => "line",
    Page => "page",
});

impl Alignment {
    /// Lines of a page.
    pub const LINES: usize = PAGE / LINE;

    /// Where in a page a buffer begins that begins in its line `line`.
    pub const fn offset(self, line: usize) -> usize {
        match self {
            Alignment::Malloc => 16 + LINE * (line % Self::LINES),
            Alignment::Line => LINE * (line % Self::LINES),
            Alignment::Page => 0,
        }
    }

    /// The one called `word`.
    ///
    /// # Errors
    /// The nearest right name.
    pub fn parse(word: &str) -> Result<Alignment, String> {
        named::find("place of a buffer", word, Alignment::ALL, Alignment::name)
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
        assert_eq!([0, 1, 64].map(|line| Alignment::Line.offset(line)), [0, 64, 0]);
        assert_eq!([0, 1, 64].map(|line| Alignment::Page.offset(line)), [0; 3]);
    }
}
