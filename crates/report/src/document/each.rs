//! A table with a row for each of some things: every column in one place, its heading and priority beside what stands
//! in it of a row.

use super::{Column, Emphasis, Row, Table, Text};
use model::distinct::distinct;

/// Such a table, to which columns are added.
pub struct TableOfEach<'a, T> {
    things: &'a [T],
    table: Table,
}

impl Table {
    /// A table with a row for each of `things`, and no columns yet.
    pub fn of_each<T>(caption: impl Into<String>, things: &[T]) -> TableOfEach<'_, T> {
        let rows = things.iter().map(|_| Row::default());
        TableOfEach { things, table: Table::new(caption).rows(rows) }
    }
}

impl<'a, T> TableOfEach<'a, T> {
    /// With a further column of words.
    pub fn words<C: Into<Text>>(
        self,
        name: impl Into<String>,
        priority: u8,
        cell: impl Fn(&'a T) -> C,
    ) -> Self {
        self.column(Column::text(name, priority), cell)
    }

    /// With a further column of numbers.
    pub fn numbers<C: Into<Text>>(
        self,
        name: impl Into<String>,
        priority: u8,
        cell: impl Fn(&'a T) -> C,
    ) -> Self {
        self.column(Column::number(name, priority), cell)
    }

    /// With a further column of words, where it `stands` at all.
    pub fn words_if<C: Into<Text>>(
        self,
        stands: bool,
        name: impl Into<String>,
        priority: u8,
        cell: impl Fn(&'a T) -> C,
    ) -> Self {
        if stands { self.words(name, priority, cell) } else { self }
    }

    /// With a further column of numbers, where it `stands` at all.
    pub fn numbers_if<C: Into<Text>>(
        self,
        stands: bool,
        name: impl Into<String>,
        priority: u8,
        cell: impl Fn(&'a T) -> C,
    ) -> Self {
        if stands { self.numbers(name, priority, cell) } else { self }
    }

    fn column<C: Into<Text>>(mut self, column: Column, cell: impl Fn(&'a T) -> C) -> Self {
        self.table.columns.push(column);
        for (row, thing) in self.table.rows.iter_mut().zip(self.things) {
            row.cells.push(cell(thing).into());
        }
        self
    }

    /// With rows that stand out.
    pub fn emphasis(mut self, of: impl Fn(&'a T) -> Emphasis) -> Self {
        for (row, thing) in self.table.rows.iter_mut().zip(self.things) {
            row.emphasis = of(thing);
        }
        self
    }

    /// The table, all its columns being there.
    pub fn table(self) -> Table {
        self.table
    }

    /// The same with a heading before each stretch of rows that have something in common.
    pub fn under<K: PartialEq>(
        self,
        common: impl Fn(&'a T) -> K,
        heading: impl Fn(&'a T) -> String,
    ) -> Table {
        let mut last = None;
        let mut rows = Vec::new();
        for (row, thing) in self.table.rows.into_iter().zip(self.things) {
            let own = Some(common(thing));
            if last != own {
                rows.push(Row::heading(Text::new().strong(heading(thing))));
            }
            last = own;
            rows.push(row);
        }
        Table { rows, ..self.table }
    }

    /// The same where not all rows have it in common; else without a heading.
    pub fn under_several<K: PartialEq>(
        self,
        common: impl Fn(&'a T) -> K,
        heading: impl Fn(&'a T) -> String,
    ) -> Table {
        let several = distinct(self.things.iter().map(&common)).len() > 1;
        if several { self.under(common, heading) } else { self.table }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_added_with_its_cells_and_a_heading_where_there_are_several() {
        let sizes = [(1, "a"), (1, "b"), (2, "c")];
        let made = |sizes| {
            Table::of_each("T", sizes)
                .words("name", 0, |(_, name)| *name)
                .numbers("size", 0, |(size, _): &(i32, &str)| size.to_string())
                .numbers_if(false, "none", 0, |_| "")
                .under_several(|(size, _)| *size, |(size, _)| format!("size {size}"))
        };
        let words = |table: &Table| -> Vec<String> {
            let cells = |row: &Row| row.cells.iter().map(Text::to_plain).collect::<Vec<_>>();
            table.rows.iter().map(|row| cells(row).join(" ")).collect()
        };
        assert_eq!(words(&made(&sizes)), ["size 1", "a 1", "b 1", "size 2", "c 2"]);
        assert_eq!(words(&made(&sizes[..2])), ["a 1", "b 1"]);
        assert_eq!(made(&sizes).columns.len(), 2);
    }
}
