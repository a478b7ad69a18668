//! Integration tests of this crate in one program: one link step instead of one for each file.

mod allocation;
mod fitness;

#[global_allocator]
static ALLOCATOR: haptic_testing::CountingAllocator = haptic_testing::CountingAllocator;
