//! Usages required for force feedback, named as in the HID usage tables.
#![allow(missing_docs, reason = "the names are those of the usage tables")]

use super::field::Usage;

const GENERIC_DESKTOP: u16 = 0x01;
const SIMULATION: u16 = 0x02;
const PHYSICAL_INTERFACE: u16 = 0x0F;

const fn pid(id: u16) -> Usage {
    Usage::new(PHYSICAL_INTERFACE, id)
}

pub const JOYSTICK: Usage = Usage::new(GENERIC_DESKTOP, 0x04);
pub const GAMEPAD: Usage = Usage::new(GENERIC_DESKTOP, 0x05);
pub const X: Usage = Usage::new(GENERIC_DESKTOP, 0x30);
pub const Y: Usage = Usage::new(GENERIC_DESKTOP, 0x31);
pub const STEERING: Usage = Usage::new(SIMULATION, 0xC8);

/// Whether a usage is that of an axis, x to wheel of a joystick or a control of a vehicle, rather than of a hat or a
/// button.
pub fn is_axis(usage: Usage) -> bool {
    const WHEEL: u16 = 0x38;
    match usage.page() {
        GENERIC_DESKTOP => (X.id()..=WHEEL).contains(&usage.id()),
        page => page == SIMULATION,
    }
}

pub const SET_EFFECT_REPORT: Usage = pid(0x21);
pub const EFFECT_BLOCK_INDEX: Usage = pid(0x22);
pub const EFFECT_TYPE: Usage = pid(0x25);
pub const ET_CONSTANT_FORCE: Usage = pid(0x26);
pub const DURATION: Usage = pid(0x50);
pub const GAIN: Usage = pid(0x52);
pub const AXES_ENABLE: Usage = pid(0x55);
pub const DIRECTION_ENABLE: Usage = pid(0x56);
pub const DIRECTION: Usage = pid(0x57);
pub const MAGNITUDE: Usage = pid(0x70);
pub const SET_CONSTANT_FORCE_REPORT: Usage = pid(0x73);
pub const EFFECT_OPERATION_REPORT: Usage = pid(0x77);
pub const OP_EFFECT_START: Usage = pid(0x79);
pub const OP_EFFECT_STOP: Usage = pid(0x7B);
pub const LOOP_COUNT: Usage = pid(0x7C);
pub const DEVICE_GAIN_REPORT: Usage = pid(0x7D);
pub const DEVICE_GAIN: Usage = pid(0x7E);
pub const PID_POOL_REPORT: Usage = pid(0x7F);
pub const SIMULTANEOUS_EFFECTS_MAX: Usage = pid(0x83);
pub const PID_BLOCK_LOAD_REPORT: Usage = pid(0x89);
pub const BLOCK_LOAD_SUCCESS: Usage = pid(0x8C);
pub const BLOCK_LOAD_FULL: Usage = pid(0x8D);
pub const PID_BLOCK_FREE_REPORT: Usage = pid(0x90);
pub const DC_ENABLE_ACTUATORS: Usage = pid(0x97);
pub const DC_DISABLE_ACTUATORS: Usage = pid(0x98);
pub const DC_STOP_ALL_EFFECTS: Usage = pid(0x99);
pub const DC_DEVICE_RESET: Usage = pid(0x9A);
pub const ACTUATORS_ENABLED: Usage = pid(0xA0);
pub const CREATE_NEW_EFFECT_REPORT: Usage = pid(0xAB);
