//! Counts allocator calls and allocated bytes per thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// System allocator that counts its calls. A test program installs it with `#[global_allocator]`.
#[derive(Debug)]
pub struct CountingAllocator;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    /// Bytes allocated and not yet freed by this thread; negative if it frees what others have allocated.
    static BYTES: Cell<isize> = const { Cell::new(0) };
    static MOST_BYTES: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    CALLS.set(CALLS.get() + 1);
    BYTES.set(BYTES.get() + bytes);
    MOST_BYTES.set(MOST_BYTES.get().max(BYTES.get()));
}

// SAFETY: every call is passed unchanged to the system allocator. The count is a thread-local number that needs neither
// an allocation nor a destructor. The size of a layout fits in an `isize`.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller upholds the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: the caller upholds the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Returns the number of allocations, reallocations and deallocations by this thread while `work` runs.
///
/// # Panics
/// If [`CountingAllocator`] is not the global allocator of the program.
#[track_caller]
pub fn allocator_calls_in(work: impl FnOnce()) -> u64 {
    let start = CALLS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(CALLS.get() - start, 2, "CountingAllocator is not the global allocator of this program");
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

/// Returns the largest number of bytes that this thread holds at once while `work` runs, beyond those that it held
/// before.
///
/// # Panics
/// If [`CountingAllocator`] is not the global allocator of the program.
#[track_caller]
pub fn most_bytes_in(work: impl FnOnce()) -> usize {
    assert_eq!(allocator_calls_in(|| ()), 0);
    let before = BYTES.get();
    MOST_BYTES.set(before);
    work();
    (MOST_BYTES.get() - before) as usize
}

/// Asserts that `work` neither allocates nor frees.
#[track_caller]
pub fn assert_no_allocator_calls(work: impl FnOnce()) {
    assert_eq!(allocator_calls_in(work), 0, "calls to the allocator");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: CountingAllocator = CountingAllocator;

    #[test]
    fn allocations_growth_and_releases_count() {
        let work = || {
            let mut bytes = std::hint::black_box(vec![0_u8; 100]);
            bytes.reserve_exact(1000);
        };
        assert_eq!(allocator_calls_in(work), 3);
    }

    #[test]
    fn the_most_bytes_are_those_held_at_once() {
        let work = || {
            drop(std::hint::black_box(vec![0_u8; 3000]));
            let mut bytes = std::hint::black_box(Vec::<u8>::with_capacity(1000));
            bytes.reserve_exact(5000);
            drop(std::hint::black_box(bytes));
        };
        assert_eq!(most_bytes_in(work), 5000);
    }

    #[test]
    fn other_threads_do_not_count() {
        let (start, started) = std::sync::mpsc::sync_channel(0);
        let (end, ended) = std::sync::mpsc::sync_channel(0);
        let thread = std::thread::spawn(move || {
            started.recv().unwrap();
            drop(std::hint::black_box(vec![0_u8; 100]));
            end.send(()).unwrap();
        });
        start.send(()).unwrap();
        assert_no_allocator_calls(|| while ended.try_recv().is_err() {});
        thread.join().unwrap();
    }
}
