//! Integration tests of this crate, in one binary to save link time.

mod commands;
mod common;
mod engagement;
mod faults;
mod feel;
mod scene_hand;
mod sign_check;
mod stability;
mod weightless;

#[global_allocator]
static ALLOCATOR: haptic_testing::CountingAllocator = haptic_testing::CountingAllocator;
