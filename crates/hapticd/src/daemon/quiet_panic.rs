//! A panic of the real-time thread must not write anything before the device is let go: the usual hook prints a message
//! and perhaps a backtrace, which can take milliseconds while the last force still acts. So on that thread the place is
//! only noted, and told when all is off.

use std::cell::{Cell, RefCell};
use std::panic::{set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on a panic of this thread is only noted.
pub fn be_quiet() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if IS_QUIET.get() {
                PLACE.replace(panic.location().map(ToString::to_string));
            } else {
                usual(panic);
            }
        }));
    });
    IS_QUIET.set(true);
}

/// Where the last quiet panic of this thread was.
pub fn place() -> String {
    PLACE.take().unwrap_or_else(|| "an unknown place".to_owned())
}
