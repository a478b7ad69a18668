//! Traces as CSV: one row per tick, or one row per tick and body.
//!
//! Numbers have the fewest digits that read back to the same bits. Positions and velocities refer to the origin of a
//! body's frame, so that the velocity is the slope of the position.

use crate::failure::Failure;
use crate::figures::seconds_of;
use haptic_loop::columns::{Cell, TRACE, TickView};
use haptic_loop::report::TickReport;
use haptic_loop::world::World;
use haptic_planar::scene::body_state::BodyState;
use nalgebra::Vector2;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Returns the header row of a tick trace.
fn tick_columns() -> String {
    TRACE.map(|column| column.name).join(",")
}

const BODY_COLUMNS: &str = "t_s,body,x_m,y_m,angle_rad,vx_m_per_s,vy_m_per_s,spin_rad_per_s";

/// A file written row by row.
#[derive(Debug)]
struct Table {
    path: PathBuf,
    out: BufWriter<File>,
}

impl Table {
    fn create(path: &Path, columns: &str) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| Failure::unwritable(path, &error))?;
        let mut table = Self { path: path.to_owned(), out: BufWriter::with_capacity(1 << 16, file) };
        table.write(|out| writeln!(out, "{columns}"))?;
        Ok(table)
    }

    fn write(&mut self, rows: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), Failure> {
        rows(&mut self.out).map_err(|error| {
            Failure::Runtime(format!("{}: cannot be written: {error}; the trace is incomplete", self.path.display()))
        })
    }
}

/// Writes the requested traces; does nothing if none are requested.
#[derive(Debug)]
pub struct Traces {
    ticks: Option<Table>,
    bodies: Option<Table>,
    /// Names of the bodies, escaped for CSV.
    names: Vec<String>,
}

impl Traces {
    /// Creates a file for each given path and writes its header row.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn create(ticks: Option<&Path>, bodies: Option<&Path>, world: &World) -> Result<Self, Failure> {
        let names = world.scene.bodies.iter().map(|body| csv_field(&body.name)).collect();
        let ticks = ticks.map(|path| Table::create(path, &tick_columns())).transpose()?;
        let bodies = bodies.map(|path| Table::create(path, BODY_COLUMNS)).transpose()?;
        Ok(Self { ticks, bodies, names })
    }

    /// Creates only the tick trace, if a path is given.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn of_ticks(path: Option<&Path>) -> Result<Self, Failure> {
        let ticks = path.map(|path| Table::create(path, &tick_columns())).transpose()?;
        Ok(Self { ticks, bodies: None, names: Vec::new() })
    }

    /// Returns true if nothing is traced.
    pub fn is_empty(&self) -> bool {
        self.ticks.is_none() && self.bodies.is_none()
    }

    /// Writes the rows of one tick.
    ///
    /// # Errors
    /// If the disk is full or a write fails.
    pub fn write(&mut self, report: &TickReport, world: &World) -> Result<(), Failure> {
        if let Some(table) = &mut self.ticks {
            table.write(|out| write_tick(out, report, world))?;
        }
        if let Some(table) = &mut self.bodies {
            table.write(|out| write_bodies(out, seconds_of(report.tick), world, &self.names))?;
        }
        Ok(())
    }

    /// Writes all buffered rows to the files.
    ///
    /// # Errors
    /// If the disk is full or a write fails.
    pub fn finish(mut self) -> Result<(), Failure> {
        let tables = [self.ticks.as_mut(), self.bodies.as_mut()];
        tables.into_iter().flatten().try_for_each(|table| table.write(BufWriter::flush))
    }
}

/// Values of one body in a row of a trace.
struct Shown {
    position_m: Vector2<f64>,
    angle_rad: f64,
    velocity_m_per_s: Vector2<f64>,
    angular_velocity_rad_per_s: f64,
}

fn shown(world: &World, body: usize) -> Shown {
    let (position_m, motion) = world.state.bodies[body].at_origin(&world.scene.bodies[body]);
    let BodyState { angle_rad, velocity_m_per_s, angular_velocity_rad_per_s, .. } = motion;
    Shown { position_m, angle_rad, velocity_m_per_s, angular_velocity_rad_per_s }
}

fn write_tick(out: &mut impl Write, report: &TickReport, world: &World) -> io::Result<()> {
    let view = TickView::new(report, &world.scene);
    for (index, column) in TRACE.iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        match (column.value)(&view) {
            Cell::Number(number) => write!(out, "{separator}{number:?}")?,
            cell => write!(out, "{separator}{cell}")?,
        }
    }
    writeln!(out)
}

fn write_bodies(out: &mut impl Write, t_s: f64, world: &World, names: &[String]) -> io::Result<()> {
    for (body, name) in names.iter().enumerate() {
        write!(out, "{t_s:?},{name},")?;
        write_motion(out, &shown(world, body))?;
        writeln!(out)?;
    }
    Ok(())
}

fn write_motion(out: &mut impl Write, body: &Shown) -> io::Result<()> {
    let ([x, y], [vx, vy]) = (body.position_m.into(), body.velocity_m_per_s.into());
    write!(out, "{x:?},{y:?},{:?},{vx:?},{vy:?},{:?}", body.angle_rad, body.angular_velocity_rad_per_s)
}

fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_only_where_csv_needs_it() {
        assert_eq!(csv_field("left stop"), "left stop");
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
