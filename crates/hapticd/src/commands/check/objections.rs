//! Reasons why a profile is not valid for hardware, although its files are valid.

use crate::admission::{Judgement, WorstTick, unfit_for_run};
use haptic_config::error::Problem;
use haptic_config::setup::Setup;
use haptic_config::stability::Stability;

/// Reasons why a profile is not valid for hardware.
#[derive(Clone, Debug, Default)]
pub struct Objections {
    /// The reasons, with their locations.
    pub problems: Vec<Problem>,
    /// Whether the only reason is the cost of a tick, measured on a busy machine.
    pub may_be_busy: bool,
}

impl Objections {
    /// Returns the reasons against a profile: an unstable coupling and a worst tick that is too long.
    pub fn new(setup: &Setup, worst: &WorstTick, stability: &Stability) -> Self {
        let unstable = stability.instability(&setup.profile.coupling_at);
        // With a simulated device this is a warning about the scene.
        let unfit = unfit_for_run(&setup.scene).filter(|_| !setup.is_simulated());
        let mut problems: Vec<Problem> = unstable.into_iter().chain(unfit.map(|text| of_scene(setup, &text))).collect();
        let mut may_be_busy = false;
        if let Judgement::Busy(text) | Judgement::TooLong(text) = worst.judgement() {
            may_be_busy = matches!(worst.judgement(), Judgement::Busy(_)) && problems.is_empty();
            problems.push(of_scene(setup, &text));
        }
        Self { problems, may_be_busy }
    }
}

/// Returns a problem of the scene, whose text ends with the remedy.
fn of_scene(setup: &Setup, text: &str) -> Problem {
    let (problem, remedy) = text.split_once("; ").unwrap_or((text, ""));
    setup.profile.scene.problem(problem.to_owned(), remedy.to_owned())
}
