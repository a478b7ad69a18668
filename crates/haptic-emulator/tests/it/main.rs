//! Tests of whole emulations.

mod native_sessions;
mod planned_faults;
mod slow_disk;
