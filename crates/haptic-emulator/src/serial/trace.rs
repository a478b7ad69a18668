//! The table of a board's handle and motors, written to a file by a thread of its own: a slow disk must not delay the
//! answers of the board.

use crate::handle::EmulatedHandle;
use haptic_realtime::exchange::{RingReader, RingWriter, ring};
use nalgebra::Vector2;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Number of rows that wait for the disk, one for each millisecond: a minute.
const WAITING_ROWS: usize = 60_000;
/// Time between two visits of the thread to the ring.
const VISIT_INTERVAL: Duration = Duration::from_millis(20);

/// One row of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    time_s: f64,
    position_m: Vector2<f64>,
    force_n: Vector2<f64>,
}

/// A table that is being written, or nothing if none was requested.
#[derive(Debug)]
pub(super) struct Trace(Option<Writing>);

#[derive(Debug)]
struct Writing {
    rows: RingWriter<Row>,
    thread: JoinHandle<io::Result<()>>,
}

impl Trace {
    /// Creates the file, if a path is given, and starts the thread that writes it. The thread has no real-time priority
    /// if that of the caller is reset on fork.
    ///
    /// # Errors
    /// If the file cannot be created or the thread cannot be started.
    pub fn begin(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self(None)) };
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "t_s,x_m,y_m,force_x_n,force_y_n")?;
        let (rows, waiting) = ring(WAITING_ROWS);
        let thread = Builder::new().name("trace".to_owned()).spawn(move || write_rows(file, waiting))?;
        Ok(Self(Some(Writing { rows, thread })))
    }

    /// Adds a row. Does not wait for the disk.
    ///
    /// # Errors
    /// If the file could not be written, which ends the trace.
    pub fn add(&mut self, time_s: f64, handle: &EmulatedHandle) -> io::Result<()> {
        let Some(writing) = &mut self.0 else { return Ok(()) };
        let (position_m, force_n) = (handle.true_state().position_m, handle.force_n());
        writing.rows.push(Row { time_s, position_m, force_n });
        if writing.rows.is_abandoned() { self.end() } else { Ok(()) }
    }

    /// Waits until all rows are in the file.
    ///
    /// # Errors
    /// If the file could not be written, or rows were lost because the disk was too slow.
    pub fn end(&mut self) -> io::Result<()> {
        let Some(Writing { rows, thread }) = self.0.take() else { return Ok(()) };
        let lost = rows.dropped();
        drop(rows);
        thread.join().map_err(|_| io::Error::other("the thread that writes the trace panicked"))??;
        match lost {
            0 => Ok(()),
            _ => Err(io::Error::other(format!("{lost} rows of the trace are lost: the disk is too slow"))),
        }
    }
}

fn write_rows(mut file: BufWriter<File>, mut rows: RingReader<Row>) -> io::Result<()> {
    loop {
        let was_last_visit = rows.is_abandoned();
        for Row { time_s, position_m, force_n } in rows.drain() {
            writeln!(file, "{time_s:.6},{},{},{},{}", position_m.x, position_m.y, force_n.x, force_n.y)?;
        }
        if was_last_visit {
            return file.flush();
        }
        std::thread::sleep(VISIT_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_device::DeviceModel;

    fn handle() -> EmulatedHandle {
        EmulatedHandle::new(2, &DeviceModel::default(), None).unwrap()
    }

    #[test]
    fn rows_that_did_not_fit_are_reported_at_the_end() {
        let (rows, waiting) = ring(2);
        let thread = std::thread::spawn(move || {
            while !waiting.is_abandoned() {
                std::thread::yield_now();
            }
            Ok(())
        });
        let mut trace = Trace(Some(Writing { rows, thread }));
        (0..5).for_each(|row| trace.add(f64::from(row), &handle()).unwrap());
        assert!(trace.end().unwrap_err().to_string().starts_with("3 rows of the trace are lost"));
    }

    #[test]
    fn a_full_disk_ends_the_trace_with_its_error() {
        let mut trace = Trace::begin(Some(Path::new("/dev/full"))).unwrap();
        let error = (0..).find_map(|row| trace.add(f64::from(row), &handle()).err()).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
