//! Integration tests of this crate, in one binary to save link time.

mod allocation;
mod hid_joystick;
mod hid_layout;
mod hid_native;
mod native_link;
mod odrive_link;
mod other_links;
mod serial_port;

#[global_allocator]
static ALLOCATOR: haptic_testing::CountingAllocator = haptic_testing::CountingAllocator;
