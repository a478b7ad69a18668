//! Integration tests of this crate, in one program so that there is one link step instead of one per file.

mod api_schema;
mod commands;
mod common;
mod device_kinds;
mod devices;
mod examples;
mod golden;
mod hostile;
mod recorded_runs;
mod recording;
mod reload;
mod snapshot;
mod stored_recordings;
mod system_calls;
mod terminal;
mod tuning;
mod view;
