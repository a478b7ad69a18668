//! Integration tests of this crate, in one binary to save link time.

mod allocation;
mod fitness;

#[global_allocator]
static ALLOCATOR: haptic_testing::CountingAllocator = haptic_testing::CountingAllocator;
