//! Integration tests of this crate, in one binary to save link time.

mod api_schema;
mod bounds;
mod commands;
mod common;
mod dead_man;
mod device_kinds;
mod devices;
mod emergency_stop;
mod examples;
mod golden;
mod hangup;
mod hostile;
mod new_files;
mod recorded_runs;
mod recording;
mod reload;
mod safety_case;
mod scenes;
mod snapshot;
mod stored_recordings;
mod system_calls;
mod terminal;
mod tuning;
mod view;
mod wrong_arguments;
