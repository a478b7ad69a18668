//! Reads and writes do not allocate memory, even with faults.

use haptic_device::faulty::PerKind;
use haptic_device::{
    Device, DeviceModel, Effort, FaultPlan, FaultyDevice, HandModel, InjectedFault, MonotonicNs, Path,
    PrescribedDevice, SimulatedDevice,
};
use haptic_testing::assert_no_allocator_calls;
use nalgebra::Vector2;

fn exercise(device: &mut dyn Device) {
    for tick in 0..5000u64 {
        let now = MonotonicNs(tick * 1_000_000);
        device.set_hand_target((2000..2500).contains(&tick).then(|| Vector2::new(0.05, 0.02)));
        let reading = device.read(now);
        device.write(Effort { force_n: reading.position_m * -100.0 }, now);
    }
}

#[test]
fn simulated_devices_do_not_allocate_even_behind_faults() {
    let chance = PerKind { dropped: 0.1, repeated: 0.1, not_a_number: 0.1, jump: 0.1, late: 0.1, ..PerKind::default() };
    let scheduled = vec![
        (100, InjectedFault::Loss { ticks: 50 }),
        (300, InjectedFault::WriteFailure),
        (301, InjectedFault::WriteBusy),
    ];
    let inner = SimulatedDevice::new(2, &DeviceModel::default(), Some(&HandModel::default())).unwrap();
    let mut device = FaultyDevice::new(inner, FaultPlan { chance, scheduled, ..FaultPlan::default() });
    assert_no_allocator_calls(|| exercise(&mut device));
}

#[test]
fn prescribed_devices_do_not_allocate() {
    let rows = (0..1000).map(|row| [f64::from(row) * 0.003, f64::from(row) * 0.001, 0.0]).collect();
    let mut device = PrescribedDevice::new(2, Path::new(rows, false).unwrap());
    assert_no_allocator_calls(|| exercise(&mut device));
}
