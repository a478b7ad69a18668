//! Integration tests of this crate, in one binary to save link time.

mod allocation;
mod friction;
mod simulated;

#[global_allocator]
static ALLOCATOR: haptic_testing::CountingAllocator = haptic_testing::CountingAllocator;
