//! Faults in an image of the loop.

use super::Fault;
use haptic_device::{FaultCode, WriteError};
use haptic_planar::checkpoint::Archive;

/// What stands for a fault that is missing.
pub(crate) const NO_FAULT: Fault = Fault::ReadingNotFinite;

impl Fault {
    /// As its kind and two numbers. Real-time: constant.
    pub fn carry(&mut self, archive: &mut impl Archive) {
        let [mut kind, mut first, mut second] = words_of(self);
        [&mut kind, &mut first, &mut second].into_iter().for_each(|word| archive.word(word));
        *self = fault_of([kind, first, second]);
    }
}

fn words_of(fault: &Fault) -> [u64; 3] {
    match *fault {
        Fault::ReadingNotFinite => [0, 0, 0],
        Fault::ForceNotFinite => [1, 0, 0],
        Fault::OverSpeed { speed_m_per_s, limit_m_per_s } => [2, speed_m_per_s.to_bits(), limit_m_per_s.to_bits()],
        Fault::Lost { silent_s } => [3, silent_s.to_bits(), 0],
        Fault::PairsDropped { pairs } => [4, u64::from(pairs), 0],
        Fault::Overruns { in_a_row } => [5, u64::from(in_a_row), 0],
        Fault::NotSent(WriteError::NotFinite) => [6, 0, 0],
        Fault::NotSent(WriteError::NotConnected) => [7, 0, 0],
        Fault::NotSent(WriteError::Os { errno }) => [8, u64::from(errno as u32), 0],
        Fault::Device(FaultCode::Watchdog) => [9, 0, 0],
        Fault::Device(FaultCode::EncoderJump { axis }) => [10, u64::from(axis), 0],
        Fault::Device(FaultCode::Disarmed) => [11, 0, 0],
        Fault::Device(FaultCode::Protocol { bad_frames }) => [12, u64::from(bad_frames), 0],
        Fault::Device(FaultCode::Kinematics) => [13, 0, 0],
        Fault::Device(FaultCode::Device { code, detail }) => [14, u64::from(code), u64::from(detail)],
    }
}

fn fault_of([kind, first, second]: [u64; 3]) -> Fault {
    let (number, limit) = (f64::from_bits(first), f64::from_bits(second));
    match kind {
        1 => Fault::ForceNotFinite,
        2 => Fault::OverSpeed { speed_m_per_s: number, limit_m_per_s: limit },
        3 => Fault::Lost { silent_s: number },
        4 => Fault::PairsDropped { pairs: first as u32 },
        5 => Fault::Overruns { in_a_row: first as u32 },
        6 => Fault::NotSent(WriteError::NotFinite),
        7 => Fault::NotSent(WriteError::NotConnected),
        8 => Fault::NotSent(WriteError::Os { errno: first as u32 as i32 }),
        9 => Fault::Device(FaultCode::Watchdog),
        10 => Fault::Device(FaultCode::EncoderJump { axis: first as u8 }),
        11 => Fault::Device(FaultCode::Disarmed),
        12 => Fault::Device(FaultCode::Protocol { bad_frames: first as u32 }),
        13 => Fault::Device(FaultCode::Kinematics),
        14 => Fault::Device(FaultCode::Device { code: first as u8, detail: second as u32 }),
        _ => Fault::ReadingNotFinite,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_comes_back_with_its_numbers() {
        for kind in 0..15 {
            let fault = fault_of([kind, 7, 0]);
            assert_eq!((words_of(&fault)[0], fault_of(words_of(&fault))), (kind, fault));
        }
        let fault = Fault::OverSpeed { speed_m_per_s: 3.5, limit_m_per_s: 3.0 };
        assert_eq!(fault_of(words_of(&fault)), fault);
        let fault = Fault::NotSent(WriteError::Os { errno: -5 });
        assert_eq!(fault_of(words_of(&fault)), fault);
    }
}
