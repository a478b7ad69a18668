//! The envelope: the range of scenes and couplings for which the accuracy of the simulation is guaranteed. Outside it,
//! a tick stays bounded and finite, but bodies can overlap more and a small energy gain is possible.

use crate::scene::{Body, Scene};

/// Largest ratio of the masses of two dynamic bodies that can touch. With a larger ratio, the contact solve may not
/// converge within its sweeps.
pub const MAX_MASS_RATIO: f64 = 100.0;
/// Largest stiffness of the coupling, N/m.
pub const MAX_STIFFNESS_N_PER_M: f64 = 5000.0;
/// Largest force on the hand, N.
pub const MAX_FORCE_N: f64 = 50.0;

impl Scene {
    /// Returns the two dynamic bodies that can touch (those of one layer) whose masses differ most, the lighter one
    /// first; `None` without dynamic bodies.
    pub fn lightest_and_heaviest(&self) -> Option<(&Body, &Body)> {
        let mut all: Vec<&Body> = self.dynamic_bodies.iter().map(|&index| &self.bodies[index]).collect();
        all.sort_by(|a, b| a.layer.cmp(&b.layer).then(a.mass_kg.total_cmp(&b.mass_kg)));
        let layers =
            all.chunk_by(|a, b| a.layer == b.layer).filter_map(|layer| Some((*layer.first()?, *layer.last()?)));
        let ratio = |(light, heavy): &(&Body, &Body)| heavy.mass_kg / light.mass_kg;
        layers.max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
    }

    /// Returns the heaviest dynamic body that a body can touch; `None` if there is none.
    pub fn heaviest_beside(&self, body: &Body) -> Option<&Body> {
        let all = self.dynamic_bodies.iter().map(|&index| &self.bodies[index]);
        let others = all.filter(|other| other.layer == body.layer && !std::ptr::eq(*other, body));
        others.max_by(|a, b| a.mass_kg.total_cmp(&b.mass_kg))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::description::{BodyDescription, SceneDescription, ShapeDescription};
    use nalgebra::Vector2;

    fn scene(masses_and_layers: &[(f64, i32)]) -> Scene {
        let disc = |(index, &(mass, layer)): (usize, &(f64, i32))| BodyDescription {
            mass_kg: Some(mass),
            layer,
            position_m: Vector2::new(index as f64, 0.0),
            ..BodyDescription::new(&index.to_string(), ShapeDescription::Disc { radius_m: 0.01 })
        };
        let bodies = masses_and_layers.iter().enumerate().map(disc).collect();
        Scene::build(&SceneDescription { bodies, ..SceneDescription::default() }).unwrap()
    }

    #[test]
    fn masses_are_compared_within_a_layer() {
        let found = |masses: &[(f64, i32)]| {
            scene(masses).lightest_and_heaviest().map(|(light, heavy)| (light.mass_kg, heavy.mass_kg))
        };
        assert_eq!(found(&[(1.0, 0), (0.5, 0), (2.0, 0)]), Some((0.5, 2.0)));
        assert_eq!(found(&[(1.0, 0), (1000.0, 1), (3.0, 0)]), Some((1.0, 3.0)));
        assert_eq!(found(&[]), None);
    }
}
