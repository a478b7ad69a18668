//! Integration tests of this crate in one program: one link step instead of one for each file.

mod commands;
mod common;
mod faults;
mod feel;
mod stability;

#[global_allocator]
static ALLOCATOR: haptic_testing::CountingAllocator = haptic_testing::CountingAllocator;
