//! Node × node as a heat map, the initiator's node down, the responder's across; tiles of several
//! nodes where there are many, and beside them a map of those that stand out.

use super::{ends, shown, summary, title};
use crate::{Axis, Block, Figure, FigureKind, Point, Scale, Series};
use analysis::fleet::{FleetJudged, GroupResult, Summary};

/// Most nodes of a map without tiles, and most tiles along a side.
const SIDE: usize = 32;
/// Most nodes of the map of those that stand out.
const STANDING_OUT: usize = 16;

/// The maps of a group; none where it is of single nodes, or nothing was measured.
pub fn figures(found: &FleetJudged, group: &GroupResult) -> Vec<Block> {
    if !group.is_of_pairs() || group.typical_ns.is_none() {
        return Vec::new();
    }
    if group.nodes <= SIDE {
        let all: Vec<usize> = (0..group.nodes).collect();
        return vec![single(found, group, &all, String::new()).into()];
    }
    let mut blocks = vec![tiled(found, group).into()];
    let some = standing_out(group);
    if some.len() > 1 {
        blocks.push(single(found, group, &some, ": nodes farthest from the rest".into()).into());
    }
    blocks
}

fn figure(
    group: &GroupResult,
    id: &str,
    title: String,
    caption: String,
    names: Vec<String>,
) -> Figure {
    let unit = shown(group, 1.0).1;
    Figure::new(
        FigureKind::Heatmap,
        format!("{id}-{}", group.group.nth),
        title,
        caption,
        Axis::categories("to node", names),
        Axis::new("median over launches", unit, Scale::Log),
    )
}

/// A cell for every ordered pair of some nodes.
fn single(found: &FleetJudged, group: &GroupResult, some: &[usize], of: String) -> Figure {
    let name = |nth: &usize| found.fleet.nodes[*nth].name.clone();
    let caption = if group.is_one_way() {
        "Each cell is one direction: the row's node sends."
    } else {
        "Both directions of a pair are one round trip, and one cell twice."
    };
    let caption = format!("{caption} Medians over launches with their 95 % intervals.");
    let id = if of.is_empty() { "map" } else { "map-of-some" };
    let head = format!("{}{of}", title(group));
    let mut map = figure(group, id, head, caption, some.iter().map(name).collect());
    map.series = some
        .iter()
        .map(|row| {
            let points =
                some.iter().enumerate().map(|(at, column)| point(found, group, *row, *column, at));
            Series::new(name(row), points)
        })
        .collect();
    map.found(finding(found, group))
}

fn point(found: &FleetJudged, group: &GroupResult, row: usize, column: usize, at: usize) -> Point {
    if row == column {
        return Point::gap(at as f64, "the node itself");
    }
    match group.from_to(row, column) {
        Some(it) => drawn(group, at, &it),
        None => {
            let failed = group.cell(row, column).and_then(|cell| cell.failed.clone());
            let lost = [row, column]
                .into_iter()
                .find(|number| found.fleet.nodes[*number].reason.is_some());
            let why = failed.unwrap_or_else(|| match lost {
                Some(node) => format!("{} took no part", found.fleet.nodes[node].name),
                None => "not measured in this direction".into(),
            });
            Point::gap(at as f64, why)
        }
    }
}

fn drawn(group: &GroupResult, at: usize, spread: &Summary) -> Point {
    let point =
        Point::new(at as f64, shown(group, spread.median).0).labelled(summary(group, spread));
    point.with_ends(ends(group, spread))
}

/// A cell for every tile of so many nodes by so many.
fn tiled(found: &FleetJudged, group: &GroupResult) -> Figure {
    let along = group.nodes.div_ceil(SIDE);
    let tiles = group.nodes.div_ceil(along);
    let of = |tile: usize| tile * along..((tile + 1) * along).min(group.nodes);
    let name = |tile: usize| {
        let nodes = of(tile);
        let (first, last) =
            (&found.fleet.nodes[nodes.start].name, &found.fleet.nodes[nodes.end - 1].name);
        if first == last { first.clone() } else { format!("{first} to {last}") }
    };
    let caption = format!(
        "Tiles of up to {along} × {along} nodes: the median over a tile's pairs of their medians; its \
         interval runs from the tile's least to its most."
    );
    let mut map = figure(group, "map", title(group), caption, (0..tiles).map(name).collect());
    map.series = (0..tiles)
        .map(|row| {
            let points = (0..tiles).map(|column| {
                let pairs = of(row).flat_map(|a| of(column).map(move |b| (a, b)));
                let mut values: Vec<f64> = pairs
                    .filter(|(a, b)| a != b)
                    .filter_map(|(a, b)| group.from_to(a, b))
                    .map(|summary| shown(group, summary.median).0)
                    .collect();
                values.sort_by(f64::total_cmp);
                match (values.first(), values.last()) {
                    (Some(least), Some(most)) => {
                        Point::new(column as f64, stats::median(&values)).between(*least, *most)
                    }
                    _ => Point::gap(column as f64, "no pair of this tile was measured"),
                }
            });
            Series::new(name(row), points)
        })
        .collect();
    map.found(finding(found, group))
}

/// The nodes whose own level or whose pairs are farthest from the rest, in their order.
fn standing_out(group: &GroupResult) -> Vec<usize> {
    let mut some: Vec<usize> = Vec::new();
    let mut take = |deviations: &[analysis::fleet::Deviation], most: usize| {
        let mut sorted: Vec<_> = deviations.iter().collect();
        sorted.sort_by(|a, b| b.distance().total_cmp(&a.distance()));
        for change in sorted {
            let nth = change.nth;
            let ends = if most == STANDING_OUT { group.ends(nth) } else { (nth, nth) };
            for node in [ends.0, ends.1] {
                if some.len() < most && !some.contains(&node) {
                    some.push(node);
                }
            }
            if some.len() >= most {
                break;
            }
        }
    };
    take(&group.of_nodes, STANDING_OUT / 2);
    take(&group.of_pairs, STANDING_OUT);
    some.sort_unstable();
    some
}

fn finding(found: &FleetJudged, group: &GroupResult) -> String {
    let differing: Vec<&str> = group
        .of_nodes
        .iter()
        .filter(|node| node.differs())
        .map(|node| found.fleet.nodes[node.nth].name.as_str())
        .collect();
    match differing.as_slice() {
        [] => "No node is shown to differ from the rest.".into(),
        [one] => format!("{one} differs from the rest."),
        many => format!("{} nodes differ from the rest.", many.len()),
    }
}
