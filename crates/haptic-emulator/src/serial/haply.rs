//! Emulated Haply 2diy. Its protocol has no framing and no watchdog, and the board holds the last torque indefinitely.
//! A reset clears the port setup and the angles, but leaves the torque on. Bytes that do not form a command are skipped
//! one by one.

use super::Board;
use crate::handle::EmulatedHandle;
use haptic_backends::serial::haply::{HaplyVariant, MAX_TORQUE_N_M};
use haptic_device::Pantograph;
use haptic_device::config::{ReversedAxes, Rotation};
use haptic_device::simulated::{DeviceModel, HandModel, ModelError};
use nalgebra::{Matrix2, Vector2};

/// Maximum length of an incomplete message, bytes; a longer one is dropped.
const MAX_MESSAGE: usize = 64;

/// Length of the end of a setup message, bytes: two numbers for each of two encoders.
const SETUP_TAIL_BYTES: usize = 16;

/// Board setup, as sent by the host.
#[derive(Clone, Debug)]
struct Ports {
    board: u8,
    /// For each encoder, in port order: angle at setup, degrees, and counts per turn.
    encoders: [(f32, f32); 2],
    /// For each joint, 1 or −1: whether the torque acts in the direction of the setup.
    motor_signs: [f64; 2],
    /// For each joint, 1 or −1: whether the encoder counts in the direction of the setup.
    encoder_signs: [f64; 2],
    /// True joint angles at setup, rad.
    joints_then_rad: Vector2<f64>,
}

/// An emulated Haply 2diy board and the arm moved by its motors.
pub struct HaplyBoard {
    variant: HaplyVariant,
    /// Arms that are wired against their variant.
    reversed: ReversedAxes,
    model: DeviceModel,
    hand: HandModel,
    handle: EmulatedHandle,
    ports: Option<Ports>,
    collected: Vec<u8>,
    torques_n_m: Vector2<f64>,
    events: Vec<String>,
}

impl HaplyBoard {
    /// Creates a board with its arm at the start of the hand's path; the path of the default hand starts at the home
    /// stop. The arm does not move until the host sends the setup.
    ///
    /// # Errors
    /// If the model cannot be simulated.
    pub fn new(variant: HaplyVariant, model: &DeviceModel, hand: Option<HandModel>) -> Result<Self, ModelError> {
        let hand = hand.unwrap_or_else(|| usual_hand(&variant));
        let handle = EmulatedHandle::new(2, model, Some(&hand))?;
        let (ports, collected, torques_n_m) = (None, Vec::new(), Vector2::zeros());
        let (reversed, events) = (ReversedAxes::default(), Vec::new());
        Ok(Self { variant, reversed, model: *model, hand, handle, ports, collected, torques_n_m, events })
    }

    /// Reverses motors and encoders of some arms.
    #[must_use]
    pub fn reversed(self, reversed: ReversedAxes) -> Self {
        Self { reversed, ..self }
    }

    /// True joint angles, rad; `None` if the handle is out of reach of the links.
    fn joints_rad(&self) -> Option<Vector2<f64>> {
        self.joints_at_rad(self.handle.true_state().position_m)
    }

    /// Joint angles with the handle at this position, rad; `None` if it is out of reach of the links.
    fn joints_at_rad(&self, position_m: Vector2<f64>) -> Option<Vector2<f64>> {
        self.linkage().angles_rad(position_m).ok().map(|angles| near(angles, &self.variant))
    }

    fn linkage(&self) -> &Pantograph {
        &self.variant.linkage
    }

    /// Handles the first complete message in the received bytes; returns false if there is none.
    fn take_message(&mut self, out: &mut Vec<Vec<u8>>) -> bool {
        let Some(length) = self.message_length() else { return false };
        if self.collected.len() < length {
            return false;
        }
        let message: Vec<u8> = self.collected.drain(..length).collect();
        match message[0] {
            1 => self.set_up(&message),
            2 => self.write(&message, out),
            0 => self.ports = None,
            _ => {}
        }
        true
    }

    /// Length of the first message in the received bytes, bytes; `None` if it is not known yet.
    fn message_length(&self) -> Option<usize> {
        match *self.collected.first()? {
            0 => Some(2),
            1 => setup_length(&self.collected),
            // Hosts set up two motors and no other outputs. Without a setup for this board number, no torques follow.
            2 => Some(if self.ports_of(*self.collected.get(1)?).is_some() { 10 } else { 2 }),
            _ => Some(1),
        }
    }

    /// Returns the setup for this board number, if any.
    fn ports_of(&self, board: u8) -> Option<&Ports> {
        self.ports.as_ref().filter(|ports| ports.board == board)
    }

    fn set_up(&mut self, message: &[u8]) {
        // A damaged message may announce another number of encoders.
        if message.len() < SETUP_TAIL_BYTES {
            return self.events.push("a setup without two encoders is ignored".to_owned());
        }
        let number = |at: usize| f32::from_le_bytes([0, 1, 2, 3].map(|offset| message[at + offset]));
        if message[2].count_ones() != 2 {
            return self.events.push("a setup without two motors is ignored".to_owned());
        }
        let at = message.len() - SETUP_TAIL_BYTES;
        let encoders = [(number(at), number(at + 4)), (number(at + 8), number(at + 12))];
        let joints_then_rad = self.joints_rad().unwrap_or_else(|| self.variant.home_rad());
        let motor_signs = self.signs([message[3], message[4]], self.variant.motor_directions, self.reversed.force);
        let encoder_signs =
            self.signs([message[6], message[7]], self.variant.encoder_directions, self.reversed.position);
        self.ports = Some(Ports { board: message[1], encoders, motor_signs, encoder_signs, joints_then_rad });
        self.torques_n_m = Vector2::zeros();
        self.events.push("set up; here is home now".to_owned());
    }

    /// Returns 1 for each joint whose direction in the setup is that of the variant, −1 for the others; the other way
    /// round for reversed ones.
    fn signs(&self, given: [u8; 2], of_the_variant: [Rotation; 2], reversed: [bool; 2]) -> [f64; 2] {
        let given = self.variant.by_port(given);
        [0, 1].map(|joint| {
            let is_right = (given[joint] == 1) == (of_the_variant[joint] == Rotation::Anticlockwise);
            if is_right != reversed[joint] { 1.0 } else { -1.0 }
        })
    }

    fn write(&mut self, message: &[u8], out: &mut Vec<Vec<u8>>) {
        let Some(ports) = self.ports_of(message[1]).cloned() else { return out.push(vec![message[1]]) };
        let number = |at: usize| f32::from_le_bytes([0, 1, 2, 3].map(|offset| message[at + offset]));
        let torques = self.variant.by_port([number(2), number(6)]);
        let cut = |torque: f32| f64::from(torque).clamp(-MAX_TORQUE_N_M, MAX_TORQUE_N_M);
        self.torques_n_m = Vector2::from_fn(|joint, _| cut(torques[joint]) * ports.motor_signs[joint]);
        let mut answer = vec![ports.board];
        for degrees in self.encoders_deg(&ports) {
            answer.extend(degrees.to_le_bytes());
        }
        out.push(answer);
    }

    /// Encoder angles in port order, degrees.
    fn encoders_deg(&self, ports: &Ports) -> [f32; 2] {
        let joints_rad = self.joints_at_rad(self.handle.unquantised_m()).unwrap_or(ports.joints_then_rad);
        let turned_rad = joints_rad - ports.joints_then_rad;
        let steps_rad = self.variant.steps_rad();
        let counts = [0, 1].map(|joint| {
            // Half as many as the setup states, and multiplied by two below: boards with a SAMD21 count so.
            2.0 * (turned_rad[joint] / steps_rad[joint]).floor() * ports.encoder_signs[joint]
        });
        let counts = self.variant.by_port(counts);
        [0, 1].map(|port| {
            let (offset_deg, counts_per_turn) = ports.encoders[port];
            offset_deg + counts[port] as f32 * 360.0 / counts_per_turn
        })
    }

    /// Motor force on the handle, N: F = J⁻ᵀ·τ.
    fn motors_n(&self) -> Vector2<f64> {
        let jacobian = self.joints_rad().and_then(|joints| self.linkage().jacobian(joints).ok());
        let inverse = jacobian.and_then(|jacobian: Matrix2<f64>| jacobian.transpose().try_inverse());
        inverse.map_or_else(Vector2::zeros, |inverse| inverse * self.torques_n_m)
    }
}

impl Board for HaplyBoard {
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        self.collected.extend(bytes);
        while self.take_message(out) {}
        if self.collected.len() > MAX_MESSAGE {
            self.collected.clear();
        }
    }

    fn tick(&mut self, _out: &mut Vec<Vec<u8>>) {
        if self.ports.is_some() {
            self.handle.advance(self.motors_n());
        }
    }

    /// Logs an event. The board does not detect that the port was closed, and holds the last torque.
    fn host_left(&mut self) {
        self.events.push("the host left".to_owned());
    }

    /// Resets the board, which loses its state without power, and returns the arm to the start of the hand's path.
    fn unplugged(&mut self) {
        (self.ports, self.torques_n_m) = (None, Vector2::zeros());
        self.collected.clear();
        if let Ok(body) = EmulatedHandle::new(2, &self.model, Some(&self.hand)) {
            self.handle = body;
        }
    }

    fn force_n(&self) -> Vector2<f64> {
        // The torque of each motor rather than the force at the handle, because the board commands motors.
        self.torques_n_m
    }

    fn handle(&self) -> &EmulatedHandle {
        &self.handle
    }

    fn handle_mut(&mut self) -> &mut EmulatedHandle {
        &mut self.handle
    }

    fn next_event(&mut self) -> Option<String> {
        if self.events.is_empty() { None } else { Some(self.events.remove(0)) }
    }
}

/// Length of a setup message, bytes; `None` if it is not known yet. The message contains the board number, motors with
/// directions, encoders with directions, sensors, outputs, and two numbers per encoder.
fn setup_length(message: &[u8]) -> Option<usize> {
    let motors = message.get(2)?.count_ones() as usize;
    let encoders_at = 3 + motors;
    let encoders = message.get(encoders_at)?.count_ones() as usize;
    let sensors_at = encoders_at + 1 + encoders;
    let sensors = usize::from(*message.get(sensors_at)?);
    let outputs_at = sensors_at + 1 + sensors;
    let outputs = usize::from(*message.get(outputs_at)?);
    Some(outputs_at + 1 + outputs + 8 * encoders)
}

/// Angles nearest to home that differ from `angles_rad` by whole turns, rad.
fn near(angles_rad: Vector2<f64>, variant: &HaplyVariant) -> Vector2<f64> {
    let home_rad = variant.home_rad();
    let turn = core::f64::consts::TAU;
    Vector2::from_fn(|joint, _| angles_rad[joint] + ((home_rad[joint] - angles_rad[joint]) / turn).round() * turn)
}

/// Returns the default hand, which moves from home to the centre of the travel, moves up and down there, and returns
/// home.
pub fn usual_hand(variant: &HaplyVariant) -> HandModel {
    let linkage = &variant.linkage;
    let home_m = linkage.handle_m(variant.home_rad()).unwrap_or_else(|_| Vector2::zeros());
    let reach_m = linkage.upper_link_m + linkage.lower_link_m;
    let place = |time_s: f64, share: f64| [time_s, linkage.base_m / 2.0, share * reach_m];
    let home = |time_s: f64| [time_s, home_m.x, home_m.y];
    let path =
        vec![home(0.0), home(0.5), place(2.0, 0.65), place(3.0, 0.45), place(4.0, 0.65), place(5.0, 0.45), home(7.0)];
    HandModel { path, looped: true, ..HandModel::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_setup_without_encoders_is_ignored() {
        let mut board = HaplyBoard::new(HaplyVariant::V3, &DeviceModel::default(), None).unwrap();
        let (motors, encoders, sensors, outputs) = ([0b11, 0, 0], [0], [0], [0]);
        let setup = [&[1, 1][..], &motors, &encoders, &sensors, &outputs].concat();
        board.receive(&setup, &mut Vec::new());
        assert!(board.next_event().unwrap().contains("ignored"));
        assert_eq!(board.force_n(), Vector2::zeros());
    }
}
