//! Small worlds and devices for the tests of the whole tick.

use haptic_coupling::coupling::Gains;
use haptic_coupling::model::WorstAxisModel;
use haptic_device::simulated::{HandModel, SimulatedDevice};
use haptic_device::{Device, MonotonicNs};
use haptic_loop::report::TickReport;
use haptic_loop::settings::{Safety, Settings};
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
use haptic_planar::scene::Scene;
use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription, ToolDescription};
use nalgebra::Vector2;

/// A floor whose top is at y = 0, and a 100 g disc as the tool, 20 mm above it.
pub fn floor_and_tool(gravity_m_per_s2: f64) -> SceneDescription {
    let mut floor = BodyDescription::new("floor", ShapeDescription::Box { size_m: Vector2::new(0.4, 0.02) });
    floor.fixed = true;
    floor.position_m = Vector2::new(0.0, -0.01);
    let mut tool = BodyDescription::new("tool", ShapeDescription::Disc { radius_m: 0.01 });
    tool.mass_kg = Some(0.1);
    tool.position_m = Vector2::new(0.0, 0.03);
    SceneDescription {
        gravity_m_per_s2: Vector2::new(0.0, -gravity_m_per_s2),
        bodies: vec![floor, tool],
        tool: Some(ToolDescription { body: "tool".into(), handle_m: Vector2::zeros(), weightless: false }),
        ..SceneDescription::default()
    }
}

pub fn world(description: &SceneDescription) -> World {
    World::new(Scene::build(description).unwrap())
}

/// A hand that follows a path of rows t, x, y once.
pub fn hand(path: &[[f64; 3]]) -> HandModel {
    HandModel { path: path.to_vec(), looped: false, ..HandModel::default() }
}

pub fn simulated(hand: Option<&HandModel>) -> SimulatedDevice {
    SimulatedDevice::new(2, &haptic_device::simulated::DeviceModel::default(), hand).unwrap()
}

/// Settings for a simulated device.
pub fn settings(stiffness_n_per_m: f64, damping_n_s_per_m: f64) -> Settings {
    Settings {
        coupling: Gains { stiffness_n_per_m, damping_n_s_per_m, ..Gains::default() },
        safety: Safety { engage_ramp_s: 0.2, ..Safety::default() },
        ..Settings::default()
    }
}

pub fn rendering(device: impl Device + 'static, world: World, settings: &Settings) -> HapticLoop {
    HapticLoop::new(Box::new(device), &WorstAxisModel::default(), world, settings).unwrap()
}

/// Runs this many ticks without skipped periods and calls `check` with every report.
pub fn run(rendering: &mut HapticLoop, ticks: u64, mut check: impl FnMut(&TickReport)) {
    for _ in 0..ticks {
        check(rendering.tick(MonotonicNs(0), 0));
    }
}
