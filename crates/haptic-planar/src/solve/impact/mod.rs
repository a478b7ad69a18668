//! One planar impact with friction, in closed form.
//!
//! The normal impulse p is the independent variable. The contact first slips in its initial direction, s = ±1, with
//! p_t' = −μ s and the normal slope a₁ = k_n − μ s k_c. When this slip ends, at p_s = |u_t| / (−s c₁) with c₁ = k_c − μ
//! s k_t, the contact sticks (slope a₂ = k_n − k_c²/k_t), or slips in the other direction if the friction cone is too
//! narrow to stick. In both phases both velocities are linear in the normal impulse, so the end of slip, the end of
//! compression and the end of the impact all have closed forms. A contact that first accelerates its own approach (a
//! jam) needs no extra case: the slope of the slipping phase is then negative, but the slip always ends, because K is
//! positive definite.
//!
//! Restitution follows the law of Stronge, which relates the work of restitution to that of compression, or the law of
//! Poisson, which relates the impulses. Newton's law, which relates the normal speeds, is not offered, because it can
//! add energy if there is friction.

#[cfg(test)]
mod tests;

use crate::scene::description::RestitutionLaw;

/// Lower limit of the slope of the second phase, relative to the normal entry of the inverse mass. The slopes of real
/// bodies are far above it. It prevents a division by zero if rounding makes the inverse mass singular.
const MIN_SLOPE: f64 = 1e-12;

/// Inverse mass at a contact point, 1/kg: an impulse `p` changes the relative velocity by `K p`, in tangent and normal
/// axes. Positive definite if at least one of the bodies can move; immovable bodies add nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointInverseMass {
    /// Tangential velocity per tangential impulse.
    pub tangent: f64,
    /// Tangential velocity per normal impulse, which equals the normal velocity per tangential impulse.
    pub cross: f64,
    /// Normal velocity per normal impulse.
    pub normal: f64,
}

/// Impulse of an impact on the second body, N·s; the opposite impulse acts on the first body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impulse {
    /// Component along the tangent, within the friction cone.
    pub tangent: f64,
    /// Component along the normal, never negative.
    pub normal: f64,
}

/// Returns the impulse of one impact at a point that closes with `normal_speed` < 0 and slips with `tangent_speed`,
/// m/s. Zero if the point does not close or neither body can move.
///
/// Never adds energy, never leaves the friction cone, and leaves the point opening or at rest along the normal, for any
/// `friction` ≥ 0 and `restitution` in 0..=1.
///
/// Real-time: no loop, at most 5 divisions and one square root.
pub fn resolve(
    mass: &PointInverseMass,
    tangent_speed: f64,
    normal_speed: f64,
    friction: f64,
    restitution: f64,
    law: RestitutionLaw,
) -> Impulse {
    if normal_speed < 0.0 && mass.normal > 0.0 {
        let phases = SlipPhases::plan(mass, tangent_speed, normal_speed, friction);
        phases.impulse_until(phases.end(restitution, law))
    } else {
        Impulse::default()
    }
}

/// A phase of the impact in which the contact slips in one direction or sticks.
#[derive(Clone, Copy)]
struct Phase {
    /// Tangential impulse per normal impulse.
    lean: f64,
    /// Normal velocity per normal impulse, 1/kg. Positive except in a jam, which only occurs in the first phase.
    slope: f64,
}

impl Phase {
    fn slip(mass: &PointInverseMass, friction: f64, direction: f64) -> Self {
        let lean = -friction * direction;
        Self { lean, slope: mass.normal + lean * mass.cross }
    }

    /// Returns the phase after the first slip. The contact sticks if the friction cone allows it; otherwise it slips in
    /// the direction in which the normal impulse accelerates it.
    fn after_slip(mass: &PointInverseMass, friction: f64) -> Self {
        let phase = if mass.cross.abs() > friction * mass.tangent {
            Self::slip(mass, friction, mass.cross.signum())
        } else {
            let lean = if mass.tangent > 0.0 { -mass.cross / mass.tangent } else { 0.0 };
            Self { lean, slope: mass.normal + lean * mass.cross }
        };
        Self { slope: phase.slope.max(MIN_SLOPE * mass.normal), ..phase }
    }
}

/// Normal impulse and work at the end of compression.
struct Compression {
    /// Normal impulse of the compression, N·s.
    impulse: f64,
    /// Work absorbed by the normal impulse, J, positive.
    work: f64,
}

/// The two phases of an impact and the normal impulse at which the second begins.
struct SlipPhases {
    first: Phase,
    second: Phase,
    /// Normal impulse at which the first slip ends, N·s; infinite if it does not end.
    slip_end: f64,
    /// Normal velocity before the impact, m/s, negative.
    approach: f64,
}

impl SlipPhases {
    fn plan(mass: &PointInverseMass, tangent_speed: f64, approach: f64, friction: f64) -> Self {
        let second = Phase::after_slip(mass, friction);
        if tangent_speed == 0.0 {
            return Self { first: second, second, slip_end: 0.0, approach };
        }
        let direction = tangent_speed.signum();
        let first = Phase::slip(mass, friction, direction);
        let braking = -direction * (mass.cross + first.lean * mass.tangent);
        let slip_end = match (braking > 0.0, first.slope > 0.0) {
            (true, _) => tangent_speed.abs() / braking,
            (false, true) => f64::INFINITY,
            // A jam always brakes its slip; only an inverse mass that rounding makes singular leads here.
            (false, false) => 0.0,
        };
        Self { first, second, slip_end, approach }
    }

    /// Returns the normal impulse at the end of the impact, N·s.
    fn end(&self, restitution: f64, law: RestitutionLaw) -> f64 {
        let compression = self.compress();
        match law {
            RestitutionLaw::Poisson => (1.0 + restitution) * compression.impulse,
            RestitutionLaw::Stronge => self.restore(compression.impulse, restitution * restitution * compression.work),
        }
    }

    fn compress(&self) -> Compression {
        let (speed, first, second) = (self.approach, self.first.slope, self.second.slope);
        // Never true in a jam, in which the right side is negative.
        if -speed <= first * self.slip_end {
            return Compression { impulse: -speed / first, work: 0.5 * speed * speed / first };
        }
        let speed_at_slip_end = speed + first * self.slip_end;
        Compression {
            impulse: self.slip_end - speed_at_slip_end / second,
            work: 0.5 * (speed_at_slip_end * speed_at_slip_end / second - (speed + speed_at_slip_end) * self.slip_end),
        }
    }

    /// Returns the total normal impulse at which restitution has released the energy `work`, J, if compression ended at
    /// the normal impulse `compressed`, N·s.
    fn restore(&self, compressed: f64, work: f64) -> f64 {
        let (first, second) = (self.first.slope, self.second.slope);
        if compressed >= self.slip_end {
            return compressed + (2.0 * work / second).sqrt();
        }
        let speed_at_slip_end = first * (self.slip_end - compressed);
        let work_until_slip_end = 0.5 * speed_at_slip_end * (self.slip_end - compressed);
        if work <= work_until_slip_end {
            return compressed + (2.0 * work / first).sqrt();
        }
        let leaving_speed =
            (speed_at_slip_end * speed_at_slip_end + 2.0 * second * (work - work_until_slip_end)).sqrt();
        self.slip_end + (leaving_speed - speed_at_slip_end) / second
    }

    fn impulse_until(&self, normal: f64) -> Impulse {
        let tangent =
            self.first.lean * normal.min(self.slip_end) + self.second.lean * (normal - self.slip_end).max(0.0);
        Impulse { tangent, normal }
    }
}
