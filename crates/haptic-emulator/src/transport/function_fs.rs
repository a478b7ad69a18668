//! A USB device on the kernel's FunctionFS, with its USB controller looped back to a host.
//!
//! The device is served through the files of a mounted FunctionFS: `ep0` carries descriptors and control requests,
//! `ep1` is the interrupt-in endpoint, and `ep2` is the interrupt-out endpoint.

use super::{now_us, wait};
use crate::audit::{HostAudit, HostAuditor};
use crate::gadget::{Gadget, STEP_US};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// A gadget with its connection state and the audit of its host.
pub struct Socket {
    gadget: Gadget,
    /// Copy of the gadget in its power-up state.
    fresh: Gadget,
    accountant: HostAuditor,
    is_plugged: bool,
}

impl Socket {
    /// Creates a socket with a gadget that is not connected yet.
    pub fn new(gadget: Gadget, accountant: HostAuditor) -> Self {
        Self { fresh: gadget.clone(), gadget, accountant, is_plugged: false }
    }

    fn plug(&mut self) {
        self.is_plugged = true;
    }

    /// Disconnects the gadget, which loses its state without power.
    fn unplug(&mut self) {
        if std::mem::take(&mut self.is_plugged) {
            self.accountant.end_life(&self.gadget);
            self.gadget = self.fresh.clone();
        }
    }

    /// Advances a connected gadget to the current time. Returns an unsolicited report, if any.
    fn step(&mut self) -> Option<Vec<u8>> {
        if !self.is_plugged {
            return None;
        }
        let report = self.gadget.advance(now_us());
        self.accountant.step(&self.gadget, now_us());
        report
    }

    /// Ends the current session and returns the audit of the host.
    pub fn conclude(&mut self) -> HostAudit {
        self.accountant.conclude(&self.gadget)
    }
}

/// A socket shared by several threads.
pub type SharedSocket = Arc<Mutex<Socket>>;

/// Maximum length of a packet on a full-speed interrupt endpoint, bytes.
const PACKET_BYTES: usize = 64;

/// Capacity of the queue of reports to the host; small, so that queued reports are recent.
const REPORTS_WAITING: usize = 2;

/// Descriptors of one HID interface with an interrupt endpoint in each direction, polled every millisecond.
fn interface(report_descriptor_bytes: usize) -> Vec<u8> {
    let [low, high] = (report_descriptor_bytes as u16).to_le_bytes();
    let mut bytes = vec![9, 0x04, 0, 0, 2, 3, 0, 0, 0];
    bytes.extend_from_slice(&[9, 0x21, 0x11, 0x01, 0, 1, 0x22, low, high]);
    bytes.extend_from_slice(&[7, 0x05, 0x81, 3, PACKET_BYTES as u8, 0, 1]);
    bytes.extend_from_slice(&[7, 0x05, 0x02, 3, PACKET_BYTES as u8, 0, 1]);
    bytes
}

/// Returns the first two writes to `ep0`: the full-speed descriptors and an empty string table.
fn introduction(report_descriptor_bytes: usize) -> (Vec<u8>, Vec<u8>) {
    const DESCRIPTORS_MAGIC: u32 = 3;
    const STRINGS_MAGIC: u32 = 2;
    const HAS_FULL_SPEED: u32 = 1;
    const HEADER_BYTES: u32 = 16;
    let interface = interface(report_descriptor_bytes);
    let mut descriptors = Vec::new();
    let total = HEADER_BYTES + interface.len() as u32;
    for word in [DESCRIPTORS_MAGIC, total, HAS_FULL_SPEED, 4] {
        descriptors.extend_from_slice(&word.to_le_bytes());
    }
    descriptors.extend_from_slice(&interface);
    let strings = [STRINGS_MAGIC, 16, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    (descriptors, strings)
}

/// A device registered with the kernel, ready to be connected.
pub struct FunctionFs {
    folder: PathBuf,
    control: File,
    descriptor: Vec<u8>,
}

impl FunctionFs {
    /// Registers the device with the kernel. `folder` is the mount point of FunctionFS, and `descriptor` is the report
    /// descriptor.
    ///
    /// # Errors
    /// If the folder is not a FunctionFS, or the kernel rejects the descriptors.
    pub fn create(folder: &Path, descriptor: Vec<u8>) -> io::Result<Self> {
        let mut control = OpenOptions::new().read(true).write(true).open(folder.join("ep0"))?;
        let (descriptors, strings) = introduction(descriptor.len());
        control.write_all(&descriptors)?;
        control.write_all(&strings)?;
        Ok(Self { folder: folder.to_owned(), control, descriptor })
    }

    /// Returns the bodies of the threads that serve the device: control, output, input and clock. The clock ends at
    /// `until_us`; the others end with the process.
    ///
    /// # Errors
    /// If an endpoint cannot be opened.
    pub fn into_threads(self, shared: &SharedSocket, until_us: u64) -> io::Result<[Box<dyn FnOnce() + Send>; 4]> {
        let endpoint = |name: &str| OpenOptions::new().read(true).write(true).open(self.folder.join(name));
        let (input, output) = (endpoint("ep1")?, endpoint("ep2")?);
        let [control_socket, output_socket, input_socket, clock_socket] = [0; 4].map(|_| shared.clone());
        let Self { control, descriptor, .. } = self;
        // A reply must not wait for the clock, and reports must not accumulate if the host does not read them.
        let (answer, reports) = sync_channel(REPORTS_WAITING);
        let report = answer.clone();
        Ok([
            Box::new(move || serve_control(control, &descriptor, &control_socket)),
            Box::new(move || serve_output(output, &output_socket, &answer)),
            Box::new(move || serve_input(input, &input_socket, &reports)),
            Box::new(move || keep_time(&clock_socket, &report, until_us)),
        ])
    }
}

fn lock(shared: &SharedSocket) -> MutexGuard<'_, Socket> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request on the control endpoint.
struct Setup {
    kind: u8,
    request: u8,
    value: u16,
    length: usize,
}

/// Length of `struct usb_functionfs_event`, bytes.
const EVENT_BYTES: usize = 12;

/// Waits up to a second for the next event; returns `None` if no complete event arrived.
///
/// Waits with `poll`, because a blocking read holds a lock of the USB function. A disconnection first queues its event
/// and then takes the same lock. A reader that starts its next read between these two steps would block the
/// disconnection forever.
fn next_event(control: &mut File) -> io::Result<Option<[u8; EVENT_BYTES]>> {
    const SOON_US: u64 = 1_000_000;
    if !wait(control, now_us() + SOON_US)? {
        return Ok(None);
    }
    let mut event = [0; EVENT_BYTES];
    let length = control.read(&mut event)?;
    Ok((length == EVENT_BYTES).then_some(event))
}

fn serve_control(mut control: File, descriptor: &[u8], shared: &SharedSocket) {
    const UNBIND: u8 = 1;
    const ENABLE: u8 = 2;
    const DISABLE: u8 = 3;
    const SETUP: u8 = 4;
    loop {
        let event = match next_event(&mut control) {
            Ok(Some(event)) => event,
            Ok(None) => continue,
            Err(_) => {
                sleep(Duration::from_millis(1));
                continue;
            }
        };
        match event[8] {
            ENABLE => lock(shared).plug(),
            UNBIND | DISABLE => lock(shared).unplug(),
            SETUP => {
                let setup = Setup {
                    kind: event[0],
                    request: event[1],
                    value: u16::from_le_bytes([event[2], event[3]]),
                    length: usize::from(u16::from_le_bytes([event[6], event[7]])),
                };
                answer_setup(&mut control, &setup, descriptor, shared);
            }
            _ => {}
        }
    }
}

/// Answers a control request. Rejects an unknown request for data with a transfer in the opposite direction.
fn answer_setup(control: &mut File, setup: &Setup, descriptor: &[u8], shared: &SharedSocket) {
    const TO_HOST: u8 = 0x80;
    const GET_DESCRIPTOR: (u8, u8) = (0x81, 0x06);
    const GET_REPORT: (u8, u8) = (0xA1, 0x01);
    const SET_REPORT: (u8, u8) = (0x21, 0x09);
    const REPORT_DESCRIPTOR: u16 = 0x22;
    const FEATURE: u16 = 3;
    let (high, low) = (setup.value >> 8, setup.value as u8);
    if setup.kind & TO_HOST == 0 {
        let mut content = vec![0; setup.length];
        // The device may be disconnected, or the host may cancel, before the content arrives.
        let Ok(taken) = control.read(&mut content) else { return };
        if (setup.kind, setup.request) == SET_REPORT && high == FEATURE {
            lock(shared).gadget.set_feature(&content[..taken], now_us());
        }
        return;
    }
    let answer = match (setup.kind, setup.request) {
        GET_DESCRIPTOR if high == REPORT_DESCRIPTOR => Some(descriptor.to_vec()),
        GET_REPORT if high == FEATURE => lock(shared).gadget.get_feature(low),
        _ => None,
    };
    let _ = match answer {
        Some(bytes) => control.write(&bytes[..bytes.len().min(setup.length)]),
        None => control.read(&mut []),
    };
}

fn serve_output(mut output: File, shared: &SharedSocket, answers: &SyncSender<Vec<u8>>) {
    loop {
        let mut report = [0; PACKET_BYTES];
        match output.read(&mut report) {
            Ok(length) if length > 0 => {
                let replies = lock(shared).gadget.output(&report[..length], now_us());
                replies.into_iter().for_each(|reply| drop(answers.try_send(reply)));
            }
            _ => sleep(Duration::from_millis(1)),
        }
    }
}

/// Sends reports to the host on request. Without a host, the reports are dropped.
fn serve_input(mut input: File, shared: &SharedSocket, reports: &Receiver<Vec<u8>>) {
    while let Ok(report) = reports.recv() {
        match input.write_all(&report) {
            Ok(()) => lock(shared).accountant.sent(),
            Err(_) => sleep(Duration::from_millis(1)),
        }
    }
}

/// Advances the gadget every millisecond while it is connected, until `until_us`.
fn keep_time(shared: &SharedSocket, reports: &SyncSender<Vec<u8>>, until_us: u64) {
    let mut step_us = now_us();
    while step_us < until_us {
        step_us += STEP_US;
        sleep(Duration::from_micros(step_us.saturating_sub(now_us())));
        let report = lock(shared).step();
        report.map(|report| reports.try_send(report));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn an_event_is_taken_whole_and_what_is_none_is_left_out() {
        let (mut kernel, control) = UnixStream::pair().unwrap();
        let mut control = File::from(OwnedFd::from(control));
        kernel.write_all(&[7; EVENT_BYTES]).unwrap();
        assert_eq!(next_event(&mut control).unwrap(), Some([7; EVENT_BYTES]));
        kernel.write_all(&[7; EVENT_BYTES - 1]).unwrap();
        assert_eq!(next_event(&mut control).unwrap(), None);
    }
}
