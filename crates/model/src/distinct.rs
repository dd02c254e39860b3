//! Values each once, or grouped: in the order in which they first come, or ascending.

use std::collections::BTreeSet;

/// `items` without those that came before; for few values that have no order or hash of their own.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// `items` ascending, each once.
pub fn ascending<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    items.into_iter().collect::<BTreeSet<T>>().into_iter().collect()
}

/// `items` in groups of those that are the `same`, each compared with the first of a group.
pub fn grouped<T>(
    items: impl IntoIterator<Item = T>,
    same: impl Fn(&T, &T) -> bool,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for item in items {
        match groups.iter_mut().find(|group| same(&group[0], &item)) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_once_where_it_first_came() {
        assert_eq!(distinct(["b", "a", "b", "c", "a"]), ["b", "a", "c"]);
    }

    #[test]
    fn groups_and_what_is_in_them_keep_their_order() {
        let groups = grouped([3, 8, 5, 2, 7], |a, b| a % 2 == b % 2);
        assert_eq!(groups, [vec![3, 5, 7], vec![8, 2]]);
    }
}
