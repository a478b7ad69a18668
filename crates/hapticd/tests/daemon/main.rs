//! The daemon run inside of the test process. It takes a core and locks memory for the whole process and replaces the panic
//! hook, so these tests have a program of their own.

mod black_boxes;
mod device_faults;
