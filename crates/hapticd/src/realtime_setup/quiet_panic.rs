//! Defers panic messages of the real-time thread until the device is off.
//!
//! The default hook prints a message and possibly a backtrace, which can take milliseconds while the last force still
//! acts. On the real-time thread the hook only stores the location; the supervisor reports it after the device is
//! closed.

use std::cell::{Cell, RefCell};
use std::panic::{set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_DEFERRED: Cell<bool> = const { Cell::new(false) };
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Suppresses the messages of later panics on the calling thread and stores their locations instead.
pub fn defer_messages() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let default_hook = take_hook();
        set_hook(Box::new(move |panic| {
            if IS_DEFERRED.get() {
                LOCATION.replace(panic.location().map(ToString::to_string));
            } else {
                default_hook(panic);
            }
        }));
    });
    IS_DEFERRED.set(true);
}

/// Removes and returns the stored source location of the last panic on the calling thread.
pub fn location() -> String {
    LOCATION.take().unwrap_or_else(|| "an unknown location".to_owned())
}
