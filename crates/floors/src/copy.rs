//! Copying: how fast one CPU moves bytes from one buffer to another, at sizes that stay in
//! each cache and at one that doesn't. A mechanism that carries bytes copies them at least
//! once (through the kernel: twice), unless it moves pages or passes a reference.
//!
//! Both buffers together take half of a cache; of memory each takes twice the last cache. Bytes
//! are counted once, not read and written. The same two buffers are copied again and again, as
//! a throughput sends one buffer again and again.

use model::floors::{Copied, Copy, CopyLevel, MEMORY, PlacedCopy};
use std::hint::black_box;
use std::time::Duration;

use super::setting::{Setting, repeat};
use model::alignment::Alignment;
use model::floors::Part;
use model::host::Cache;
use workload::Buffers;

/// Levels that are looked for, beside memory.
const LEVELS: [u32; 3] = [1, 2, 3];
/// What a repeat lasts, in ns.
const LASTING: f64 = 1e6;
/// What is copied between buffers at each kind of place: where it shows in messages.
const PLACED_BYTES: u64 = 64 << 10;
/// Time that the repeats of one level may take.
const WITHIN: Duration = Duration::from_millis(250);
/// Each buffer where the kernel describes no cache: larger than most.
const ASSUMED: u64 = 64 << 20;
/// Both buffers together never take more.
const LARGEST: u64 = 512 << 20;
/// Nor more than this part of the memory that is free, or that a control group allows.
const PART_OF_MEMORY: u64 = 4;

/// Measures each level on the CPU that the caller is pinned to.
pub fn measure(setting: &Setting) -> Copy {
    let caches: Vec<&Cache> = setting
        .host
        .caches
        .iter()
        .filter(|cache| cache.kind != "Instruction")
        .filter(|cache| cache.shared_by.iter().any(|cpus| cpus.contains(&setting.home)))
        .collect();
    let mut levels: Vec<CopyLevel> =
        LEVELS.iter().map(|number| cache_level(setting, &caches, *number)).collect();
    let largest = caches.iter().filter_map(|cache| cache.size_bytes).max();
    let copied = beyond_caches(setting, largest)
        .and_then(|bytes| copy(setting, bytes, setting.order.align))
        .into();
    levels.push(CopyLevel { level: MEMORY.into(), cache_bytes: None, copied });
    let placed = Alignment::ALL
        .map(|align| PlacedCopy { align, copied: copy(setting, PLACED_BYTES, align).into() });
    Copy { levels, placed: placed.into() }
}

fn cache_level(setting: &Setting, caches: &[&Cache], number: u32) -> CopyLevel {
    let cache = caches.iter().find(|cache| cache.level == number);
    let cache_bytes = cache.and_then(|cache| cache.size_bytes);
    let copied = match (cache, cache_bytes) {
        (_, Some(bytes)) => copy(setting, bytes / 4, setting.order.align).into(),
        (Some(_), None) => {
            Part::absent(format!("the firmware doesn't tell the size of the L{number} cache"))
        }
        (None, None) if caches.is_empty() => {
            Part::absent("the kernel describes no cache of this CPU")
        }
        (None, None) => Part::absent(format!("this CPU has no L{number} cache")),
    };
    CopyLevel { level: format!("L{number}"), cache_bytes, copied }
}

/// Bytes of a buffer that no cache holds, or why it would be too large.
fn beyond_caches(setting: &Setting, largest: Option<u64>) -> Result<u64, String> {
    let each = largest.map_or(ASSUMED, |bytes| 2 * bytes);
    let room = [setting.host.memory.available_bytes, setting.host.cgroup.memory_max_bytes];
    let room = room.into_iter().flatten().map(|bytes| bytes / PART_OF_MEMORY).min();
    let most = room.unwrap_or(LARGEST).min(LARGEST);
    match 2 * each {
        both if both <= most => Ok(each),
        both => Err(format!(
            "two buffers beyond the last cache take {} MiB; at most {} MiB are used here",
            both >> 20,
            most >> 20
        )),
    }
}

fn copy(setting: &Setting, bytes: u64, align: Alignment) -> Result<Copied, String> {
    let mut buffers = buffers(bytes, align)?;
    let mut again = |count: u64| again(&mut buffers, count);
    let count = setting.watch.filling(LASTING, &mut again);
    let per_second = |_| bytes as f64 * 1e9 / setting.watch.per_operation(count, &mut again);
    let bytes_per_sec = repeat(setting.by_extent(12, 20), WITHIN, per_second);
    Ok(Copied { buffer_bytes: bytes, bytes_per_sec })
}

/// Copies one buffer to the other, so many times.
pub(super) fn again(buffers: &mut Buffers, count: u64) {
    let (from, to) = buffers.split();
    for _ in 0..count {
        to.copy_from_slice(black_box(&*from));
        black_box(&mut *to);
    }
}

/// Two buffers of `bytes`, laid as those of a launch: where both lie decides how fast they are copied.
pub(super) fn buffers(bytes: u64, align: Alignment) -> Result<Buffers, String> {
    let bytes = bytes as usize;
    Buffers::new(bytes, align.offset(0))
        .map_err(|error| format!("two buffers of {bytes} bytes: {error}; free memory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_lies_where_messages_of_launches_do() {
        for bytes in [64, 12 << 10, 65_536] {
            let mut buffers = buffers(bytes, Alignment::Malloc).unwrap();
            let (from, to) = buffers.split();
            assert_eq!((from.len() as u64, to.len() as u64), (bytes, bytes));
            for place in [from.as_ptr(), to.as_ptr()] {
                assert_eq!(place as usize % 4096, Alignment::default().offset(0));
            }
        }
        let why = buffers(1 << 62, Alignment::Malloc).err().unwrap();
        assert!(why.contains("free memory"), "{why}");
    }
}
