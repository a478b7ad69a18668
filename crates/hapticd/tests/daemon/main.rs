//! Tests that run the daemon inside the test process. It reserves a core, locks the memory of the whole process and
//! replaces the panic hook, so these tests are a separate program.

mod black_boxes;
mod device_faults;
