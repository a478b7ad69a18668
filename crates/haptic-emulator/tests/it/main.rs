//! Tests of whole emulations.

mod planned_faults;
