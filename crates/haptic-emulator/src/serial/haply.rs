//! A Haply 2diy: no framing, no watchdog, and the last torque is held for ever. A reset forgets ports and angles but leaves the
//! torque on; what is no command is passed over byte by byte.

use super::Board;
use crate::handle::EmulatedHandle;
use haptic_backends::pantograph::Pantograph;
use haptic_backends::serial::haply::{HaplyVariant, MAX_TORQUE_N_M};
use haptic_device::simulated::{DeviceModel, HandModel, ModelError};
use nalgebra::{Matrix2, Vector2};

/// What the board waits for at most before it forgets a message that makes no sense.
const LONGEST_MESSAGE: usize = 64;

/// What setting up told the board.
#[derive(Clone, Debug)]
struct Ports {
    board: u8,
    /// Of the encoders in the order of the ports: angle at setup, degrees, and counts in a turn.
    encoders: [(f32, f32); 2],
    /// True angles of the joints when it was set up, rad.
    joints_then_rad: Vector2<f64>,
}

/// The board with its arm.
pub struct HaplyBoard {
    variant: HaplyVariant,
    model: DeviceModel,
    hand: HandModel,
    body: EmulatedHandle,
    ports: Option<Ports>,
    collected: Vec<u8>,
    torques_n_m: Vector2<f64>,
    news: Vec<String>,
}

impl HaplyBoard {
    /// An arm at its home stop, and a hand that waits there until the board is set up.
    ///
    /// # Errors
    /// A model that cannot be simulated.
    pub fn new(variant: HaplyVariant, model: &DeviceModel, hand: Option<HandModel>) -> Result<Self, ModelError> {
        let hand = hand.unwrap_or_else(|| usual_hand(&variant));
        let body = EmulatedHandle::new(2, model, Some(&hand))?;
        let (ports, collected, torques_n_m) = (None, Vec::new(), Vector2::zeros());
        Ok(Self { variant, model: *model, hand, body, ports, collected, torques_n_m, news: Vec::new() })
    }

    /// The handle is where the links let it be; a hand that wants it elsewhere finds it at the last possible place.
    fn joints_rad(&self) -> Option<Vector2<f64>> {
        self.linkage().angles_rad(self.body.true_state().position_m).ok().map(|angles| near(angles, &self.variant))
    }

    fn linkage(&self) -> &Pantograph {
        &self.variant.linkage
    }

    /// Takes one whole message off what was collected; false if there is none.
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

    /// How long the message is that begins what was collected; none if that cannot be told yet.
    fn message_length(&self) -> Option<usize> {
        match *self.collected.first()? {
            0 => Some(2),
            1 => setup_length(&self.collected),
            // Two motors and no other outputs, as hosts set it up; no torques for a number that nothing was set up for.
            2 => Some(if self.ports_of(*self.collected.get(1)?).is_some() { 10 } else { 2 }),
            _ => Some(1),
        }
    }

    /// What was set up under a board's number.
    fn ports_of(&self, board: u8) -> Option<&Ports> {
        self.ports.as_ref().filter(|ports| ports.board == board)
    }

    fn set_up(&mut self, message: &[u8]) {
        let number = |at: usize| f32::from_le_bytes([0, 1, 2, 3].map(|offset| message[at + offset]));
        let at = message.len() - 16;
        let encoders = [(number(at), number(at + 4)), (number(at + 8), number(at + 12))];
        let joints_then_rad = self.joints_rad().unwrap_or_else(|| self.variant.home_rad());
        self.ports = Some(Ports { board: message[1], encoders, joints_then_rad });
        self.torques_n_m = Vector2::zeros();
        self.news.push("set up; here is home now".to_owned());
    }

    fn write(&mut self, message: &[u8], out: &mut Vec<Vec<u8>>) {
        let Some(ports) = self.ports_of(message[1]).cloned() else { return out.push(vec![message[1]]) };
        let number = |at: usize| f32::from_le_bytes([0, 1, 2, 3].map(|offset| message[at + offset]));
        let torques = self.variant.by_port([number(2), number(6)]);
        let cut = |torque: f32| f64::from(torque).clamp(-MAX_TORQUE_N_M, MAX_TORQUE_N_M);
        self.torques_n_m = Vector2::new(cut(torques[0]), cut(torques[1]));
        let mut answer = vec![ports.board];
        for degrees in self.encoders_deg(&ports) {
            answer.extend(degrees.to_le_bytes());
        }
        out.push(answer);
    }

    /// What the encoders say, in the order of the ports.
    fn encoders_deg(&self, ports: &Ports) -> [f32; 2] {
        let turned_rad = self.joints_rad().unwrap_or(ports.joints_then_rad) - ports.joints_then_rad;
        let turned = self.variant.by_port([turned_rad.x, turned_rad.y]);
        [0, 1].map(|port| {
            let (offset_deg, counts_per_turn) = ports.encoders[port];
            let counts = (turned[port] / core::f64::consts::TAU * f64::from(counts_per_turn)).floor();
            offset_deg + counts as f32 * 360.0 / counts_per_turn
        })
    }

    /// The force that the torques put on the handle: F = J⁻ᵀ·τ.
    fn motors_n(&self) -> Vector2<f64> {
        let jacobian = self.joints_rad().and_then(|joints| self.linkage().jacobian(joints).ok());
        let inverse = jacobian.and_then(|jacobian: Matrix2<f64>| jacobian.transpose().try_inverse());
        inverse.map_or_else(Vector2::zeros, |inverse| inverse * self.torques_n_m)
    }
}

impl Board for HaplyBoard {
    fn hear(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        self.collected.extend(bytes);
        while self.take_message(out) {}
        if self.collected.len() > LONGEST_MESSAGE {
            self.collected.clear();
        }
    }

    fn tick(&mut self, _out: &mut Vec<Vec<u8>>) {
        if self.ports.is_some() {
            self.body.advance(self.motors_n());
        }
    }

    /// The board does not notice; it holds the last torque.
    fn host_left(&mut self) {
        self.news.push("the host left".to_owned());
    }

    /// Power is gone: the board forgets all, and its hand puts the arm back to its home stop.
    fn unplugged(&mut self) {
        (self.ports, self.torques_n_m) = (None, Vector2::zeros());
        self.collected.clear();
        if let Ok(body) = EmulatedHandle::new(2, &self.model, Some(&self.hand)) {
            self.body = body;
        }
    }

    fn force_n(&self) -> Vector2<f64> {
        // Told apart by motor, not by direction: that is what the board drives.
        self.torques_n_m
    }

    fn body(&self) -> &EmulatedHandle {
        &self.body
    }

    fn news(&mut self) -> Option<String> {
        if self.news.is_empty() { None } else { Some(self.news.remove(0)) }
    }
}

/// Number, motors with directions, encoders with directions, sensors, outputs, two numbers an encoder.
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

/// The turn of an angle that is nearest to home.
fn near(angles_rad: Vector2<f64>, variant: &HaplyVariant) -> Vector2<f64> {
    let home_rad = variant.home_rad();
    let turn = core::f64::consts::TAU;
    Vector2::from_fn(|joint, _| angles_rad[joint] + ((home_rad[joint] - angles_rad[joint]) / turn).round() * turn)
}

/// From home to the middle of the workspace, up and down there, and home again.
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
