//! Integration tests of this crate in one program: one link step instead of one for each file.

mod common;
mod faults;
mod feel;
mod orders;
mod stability;

#[global_allocator]
static ALLOCATOR: haptic_testing::CountingAllocator = haptic_testing::CountingAllocator;
