//! Contacts as published to viewers.

use crate::common::{GRAVITY, Lab, body, box_shape, floor, scene, with};
use haptic_planar::output::Contact;
use nalgebra::{Vector2, vector};

#[test]
fn a_resting_box_presses_its_weight_through_its_two_corners() {
    let cube = with(body("cube", box_shape(0.04, 0.02), 0.3, 0.01), 0.5, 0.5, 0.0);
    let mut lab = Lab::new(&scene(GRAVITY, vec![floor(0.5, 0.0), cube], None));
    for _ in 0..50 {
        lab.free();
    }
    let contacts: Vec<Contact> = lab.workspace.contacts(&lab.state).collect();
    let mut positions: Vec<f64> = contacts.iter().map(|contact| contact.point_m.x).collect();
    positions.sort_by(f64::total_cmp);
    assert_eq!(contacts.len(), 2);
    assert!((positions[0] - 0.28).abs() < 1e-6 && (positions[1] - 0.32).abs() < 1e-6, "{positions:?}");
    assert!(contacts.iter().all(|contact| contact.point_m.y.abs() < 1e-5), "{contacts:?}");
    let on_cube: Vector2<f64> = contacts.iter().map(force_on_the_cube).sum();
    assert!((on_cube - vector![0.0, 0.5 * GRAVITY]).norm() < 1e-6, "{on_cube}");
}

#[test]
fn bodies_apart_have_no_contact() {
    let cube = with(body("cube", box_shape(0.02, 0.02), 0.0, 0.5), 0.5, 0.5, 0.0);
    let mut lab = Lab::new(&scene(GRAVITY, vec![floor(0.5, 0.0), cube], None));
    lab.free();
    assert_eq!(lab.workspace.contacts(&lab.state).count(), 0);
}

fn force_on_the_cube(contact: &Contact) -> Vector2<f64> {
    if contact.bodies[1] == 1 { contact.force_n } else { -contact.force_n }
}
