//! Tests of whole emulations.

mod planned_faults;
mod slow_disk;
