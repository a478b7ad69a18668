//! Tests that run the daemon inside the test process. The daemon reserves a core, locks the memory of the whole process
//! and replaces the panic hook, so these tests are in a separate binary.

mod black_boxes;
mod device_faults;
