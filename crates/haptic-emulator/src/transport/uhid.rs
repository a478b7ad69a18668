//! A HID device without USB hardware, using the kernel's `uhid`.

use super::{now_us, wait};
use crate::audit::HostAuditor;
use crate::gadget::{Gadget, STEP_US};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};

/// Length of `struct uhid_event`, bytes.
const EVENT_BYTES: usize = 4380;
const NAME_BYTES: usize = 128;
const PLACE_BYTES: usize = 64;
const UNIQUE_BYTES: usize = 64;
const DATA_BYTES: usize = 4096;

/// Types of `uhid` events.
mod event {
    pub const DESTROY: u32 = 1;
    pub const OUTPUT: u32 = 6;
    pub const GET_REPORT: u32 = 9;
    pub const GET_REPORT_REPLY: u32 = 10;
    pub const CREATE: u32 = 11;
    pub const INPUT: u32 = 12;
    pub const SET_REPORT: u32 = 13;
    pub const SET_REPORT_REPLY: u32 = 14;
}

/// Identity reported by the emulated device to the kernel.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Human-readable name.
    pub name: String,
    /// USB vendor and product ids.
    pub ids: (u16, u16),
    /// Report descriptor.
    pub descriptor: Vec<u8>,
}

/// A device registered with the kernel. Dropping it removes the device from the kernel.
pub struct Uhid {
    file: File,
}

struct Event {
    bytes: Vec<u8>,
}

impl Event {
    fn new(kind: u32) -> Self {
        let mut bytes = vec![0; EVENT_BYTES];
        bytes[..4].copy_from_slice(&kind.to_ne_bytes());
        Self { bytes }
    }

    fn put(mut self, at: usize, content: &[u8]) -> Self {
        self.bytes[4 + at..4 + at + content.len()].copy_from_slice(content);
        self
    }

    fn kind(&self) -> u32 {
        u32::from_ne_bytes([self.bytes[0], self.bytes[1], self.bytes[2], self.bytes[3]])
    }

    fn number16(&self, at: usize) -> usize {
        usize::from(u16::from_ne_bytes([self.bytes[4 + at], self.bytes[5 + at]]))
    }

    fn slice(&self, at: usize, length: usize) -> &[u8] {
        &self.bytes[4 + at..4 + at + length.min(DATA_BYTES)]
    }
}

impl Uhid {
    /// Registers the device with the kernel.
    ///
    /// # Errors
    /// If the kernel has no `uhid`, or rejects the descriptor.
    pub fn create(identity: &Identity) -> io::Result<Self> {
        const BUS_USB: u16 = 3;
        let mut file = OpenOptions::new().read(true).write(true).open("/dev/uhid")?;
        let ids = NAME_BYTES + PLACE_BYTES + UNIQUE_BYTES;
        let (vendor, product) = identity.ids;
        let event = Event::new(event::CREATE)
            .put(0, identity.name.as_bytes())
            .put(NAME_BYTES + PLACE_BYTES, b"emulated-1")
            .put(ids, &(identity.descriptor.len() as u16).to_ne_bytes())
            .put(ids + 2, &BUS_USB.to_ne_bytes())
            .put(ids + 4, &u32::from(vendor).to_ne_bytes())
            .put(ids + 8, &u32::from(product).to_ne_bytes())
            .put(ids + 20, &identity.descriptor);
        file.write_all(&event.bytes)?;
        Ok(Self { file })
    }

    /// Handles requests from the kernel, and steps and audits the gadget every millisecond, until `until_us`.
    ///
    /// # Errors
    /// If a read from or write to the kernel fails.
    pub fn serve(&mut self, gadget: &mut Gadget, accountant: &mut HostAuditor, until_us: u64) -> io::Result<()> {
        let mut step_us = now_us();
        while step_us < until_us {
            step_us += STEP_US;
            while wait(&self.file, step_us)? {
                self.answer(gadget)?;
            }
            let input = gadget.advance(now_us());
            accountant.step(gadget, now_us());
            if let Some(report) = input {
                self.input(&report)?;
                accountant.sent();
            }
        }
        Ok(())
    }

    fn input(&mut self, report: &[u8]) -> io::Result<()> {
        let event = Event::new(event::INPUT).put(0, &(report.len() as u16).to_ne_bytes()).put(2, report);
        self.file.write_all(&event.bytes[..4 + 2 + report.len()])
    }

    fn answer(&mut self, gadget: &mut Gadget) -> io::Result<()> {
        let mut event = Event { bytes: vec![0; EVENT_BYTES] };
        if self.file.read(&mut event.bytes)? < 4 {
            return Ok(());
        }
        match event.kind() {
            event::OUTPUT => {
                let report = event.slice(0, event.number16(DATA_BYTES));
                let answers = gadget.output(without_empty_id(report), now_us());
                answers.iter().try_for_each(|answer| self.input(answer))
            }
            event::GET_REPORT => {
                let report = gadget.get_feature(event.slice(4, 1)[0]).unwrap_or_default();
                let reply = Event::new(event::GET_REPORT_REPLY)
                    .put(0, event.slice(0, 4))
                    .put(4, &u16::from(report.is_empty()).to_ne_bytes())
                    .put(6, &(report.len() as u16).to_ne_bytes())
                    .put(8, &report);
                self.file.write_all(&reply.bytes)
            }
            event::SET_REPORT => {
                gadget.set_feature(event.slice(8, event.number16(6)), now_us());
                self.file.write_all(&Event::new(event::SET_REPORT_REPLY).put(0, event.slice(0, 4)).bytes)
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Uhid {
    fn drop(&mut self) {
        let _ = self.file.write_all(&Event::new(event::DESTROY).bytes);
    }
}

/// Removes the zero byte that precedes a report without an id.
fn without_empty_id(report: &[u8]) -> &[u8] {
    report.strip_prefix(&[0]).unwrap_or(report)
}
