//! Test helpers shared by several crates. This crate depends on no product crate, so that the crate under test is
//! compiled only once. Product crates use it only in tests.
//!
//! ```
//! let mut random = haptic_testing::Random(7);
//! assert!((2.0..3.0).contains(&random.between(2.0, 3.0)));
//! ```

mod allocations;
mod folder;
mod random;
pub mod viewer_client;

pub use allocations::{CountingAllocator, allocator_calls_in, assert_no_allocator_calls, most_bytes_in};
pub use folder::TestFolder;
pub use random::Random;
