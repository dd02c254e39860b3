//! On which node memory lies, and where it is to lie: set_mempolicy(2), move_pages(2), getcpu(2).

use std::io;
use std::ops::Range;

use super::shared::PAGE;

/// Nodes that a mask can name: as many as any Linux has (CONFIG_NODES_SHIFT).
const MOST_NODES: usize = 1024;
const BITS: usize = libc::c_ulong::BITS as usize;
/// Pages that are asked about at most, evenly over all.
const MOST_PAGES: usize = 4096;

/// From now on this thread, and what it starts, gets memory from this node alone.
///
/// # Errors
/// As set_mempolicy(2): EINVAL where there is no such node with memory, or none that this process may use.
pub fn bind(node: u32) -> io::Result<()> {
    let mut mask = [0 as libc::c_ulong; MOST_NODES / BITS];
    let Some(word) = mask.get_mut(node as usize / BITS) else {
        return Err(super::failed::named("set_mempolicy", rustix::io::Errno::INVAL));
    };
    *word |= 1 << (node as usize % BITS);
    set(libc::MPOL_BIND, &mask)
}

/// From now on this thread, and what it starts, gets memory from the node of its CPU.
///
/// # Errors
/// As set_mempolicy(2).
pub fn keep_local() -> io::Result<()> {
    set(libc::MPOL_LOCAL, &[])
}

fn set(mode: libc::c_int, mask: &[libc::c_ulong]) -> io::Result<()> {
    // The kernel takes one bit less than it is told of.
    let bits = if mask.is_empty() { 0 } else { size_of_val(mask) * 8 + 1 };
    let start = if mask.is_empty() { std::ptr::null() } else { mask.as_ptr() };
    // SAFETY: the kernel reads `bits - 1` bits at the pointer, which the slice has, or none where it is null; it keeps none of it.
    let code = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, start, bits) };
    super::checked("set_mempolicy", code).map(drop)
}

/// The node of each page of some memory of this process, of at most a few thousand pages; None of those that aren't there.
///
/// # Errors
/// As move_pages(2): ENOSYS in kernels without NUMA.
pub fn nodes_of(ranges: &[Range<usize>]) -> io::Result<Vec<Option<u32>>> {
    let pages =
        ranges.iter().flat_map(|range| (range.start & !(PAGE - 1)..range.end).step_by(PAGE));
    let pages: Vec<usize> = pages.collect();
    let pages: Vec<usize> =
        pages.iter().copied().step_by(pages.len().div_ceil(MOST_PAGES).max(1)).collect();
    let mut status = vec![-1 as libc::c_int; pages.len()];
    let (addresses, none) = (pages.as_ptr(), std::ptr::null::<libc::c_int>());
    // SAFETY: without nodes the kernel moves nothing. It reads as many addresses as `pages` has, follows none of them, and
    // writes as many numbers to `status`, which is as long.
    let code = unsafe {
        libc::syscall(libc::SYS_move_pages, 0, pages.len(), addresses, none, status.as_mut_ptr(), 0)
    };
    super::checked("move_pages", code)?;
    Ok(status.into_iter().map(|node| u32::try_from(node).ok()).collect())
}

/// The node of the CPU that this thread runs on; 0 where the kernel doesn't tell.
pub fn here() -> u32 {
    let mut node: libc::c_uint = 0;
    let none = std::ptr::null_mut::<libc::c_uint>();
    // SAFETY: the kernel writes one number at the second pointer, which is that of a number, and none where it is null.
    let code = unsafe { libc::syscall(libc::SYS_getcpu, none, &raw mut node, none) };
    if code == 0 { node } else { 0 }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;

    /// One thread for all: a policy is a thread's.
    #[test]
    fn memory_lies_on_the_node_that_was_asked_for() {
        let touched = vec![1u8; 8 * PAGE];
        let start = touched.as_ptr() as usize;
        let halves = [start..start + 4 * PAGE, start + 4 * PAGE..start + 8 * PAGE];
        let found = match nodes_of(&halves) {
            Ok(found) => found,
            Err(error) => return eprintln!("skipped nodes of memory: {error}"),
        };
        assert!(found.len() >= 8 && found.iter().all(Option::is_some), "{found:?}");
        std::thread::spawn(|| {
            let node = here();
            bind(node).unwrap();
            keep_local().unwrap();
            let error = bind(MOST_NODES as u32 - 1).unwrap_err().to_string();
            assert!(error.starts_with("set_mempolicy: "), "{error}");
            assert!(bind(u32::MAX).is_err());
        })
        .join()
        .unwrap();
    }
}
