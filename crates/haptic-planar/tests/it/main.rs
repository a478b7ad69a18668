//! Integration tests of this crate in one program: one link step instead of one for each file.

mod allocation;
mod common;
mod contacts;
mod coupling;
mod determinism;
mod energy;
mod fast_bodies;
mod impact_rules;
mod impact_states;
mod jamming;
mod restitution;
mod rolling;
mod seams;
mod sliding;
mod stacks;
mod worst_case;

#[global_allocator]
static ALLOCATOR: haptic_testing::CountingAllocator = haptic_testing::CountingAllocator;
