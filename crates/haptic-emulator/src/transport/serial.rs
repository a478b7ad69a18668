//! A board on a serial line, such as the device side of a USB serial gadget.

use super::{now_us, wait};
use crate::audit::HostAuditor;
use crate::gadget::{Gadget, STEP_US};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// Opens the serial line at `path` in raw mode.
///
/// # Errors
/// If the path cannot be opened or is not a terminal.
pub fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut attributes = tcgetattr(&file)?;
    attributes.make_raw();
    tcsetattr(&file, OptionalActions::Now, &attributes)?;
    Ok(file)
}

/// Answers the host on the line, and steps and audits the gadget every millisecond, until `until_us`.
///
/// # Errors
/// If a read or write fails, for example because the line hangs up.
pub fn serve(line: &mut File, gadget: &mut Gadget, accountant: &mut HostAuditor, until_us: u64) -> io::Result<()> {
    let mut step_us = now_us();
    while step_us < until_us {
        step_us += STEP_US;
        while wait(line, step_us)? {
            let mut bytes = [0; 256];
            let count = line.read(&mut bytes)?;
            let answers = gadget.serial(&bytes[..count], now_us());
            line.write_all(&answers)?;
        }
        // A fault is sent with the next answer: without a host, a write may block.
        gadget.step(now_us());
        accountant.step(gadget, now_us());
    }
    Ok(())
}
