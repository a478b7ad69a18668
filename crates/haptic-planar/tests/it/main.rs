//! Integration tests of this crate in one program: one link step instead of one for each file.

mod allocation;
mod bounds;
mod common;
mod contacts;
mod coupling;
mod coupling_rules;
mod crowds;
mod determinism;
mod energy;
mod fast_bodies;
mod flat_corners;
mod impact_rules;
mod impact_states;
mod invariants;
mod jamming;
mod passing;
mod restitution;
mod rolling;
mod rotation;
mod seams;
mod shapes;
mod simultaneous_impacts;
mod sliding;
mod slots;
mod stacks;
mod starvation;
mod wall_ends;
mod walls;
mod weightless;
mod worst_case;

#[global_allocator]
static ALLOCATOR: haptic_testing::CountingAllocator = haptic_testing::CountingAllocator;
