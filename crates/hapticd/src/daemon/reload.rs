//! A profile that changes while the daemon runs: what of it is live, what re-engages, what needs a restart.

use super::profile_watch::ProfileWatch;
use crate::cli::InputArguments;
use crate::failure::Failure;
use haptic_config::profile::Profile;
use haptic_config::setup::{Setup, open_profile};
use haptic_coupling::coupling::Gains;
use haptic_loop::command::Command;
use haptic_view::ControlError;
use std::collections::VecDeque;
use std::path::Path;

/// Takes over changes of the profile.
pub struct Reload {
    input: InputArguments,
    /// As last taken over.
    profile: Profile,
    is_simulated: bool,
    axes: u8,
    i_know: bool,
    watch: Option<ProfileWatch>,
    /// What the loop has not taken yet, in order: the profile counts as taken over, so nobody else would tell it again.
    waiting: VecDeque<Command>,
    /// The user knows that the loop is busy.
    has_told_of_waiting: bool,
}

/// What a changed profile comes to.
#[derive(Debug, Default)]
pub struct Change {
    /// For the loop, in this order.
    pub commands: Vec<Command>,
    /// Keys that were changed and stay as they were until a restart.
    pub need_restart: Vec<&'static str>,
}

impl Reload {
    /// Begins to watch the profile's file, if it is one.
    pub fn new(setup: &Setup, input: InputArguments, i_know: bool) -> Self {
        let watch = input.profile.as_deref().map(Path::new).filter(|path| path.is_file()).and_then(|path| {
            let warn = |error: &notify::Error| {
                tracing::warn!("{}: changes are not noticed: {error}; send SIGHUP to have it read", path.display());
            };
            ProfileWatch::of(path).inspect_err(warn).ok()
        });
        let (is_simulated, axes) = (setup.is_simulated(), setup.device.axes as u8);
        Self {
            input,
            profile: setup.profile.clone(),
            is_simulated,
            axes,
            i_know,
            watch,
            waiting: VecDeque::new(),
            has_told_of_waiting: false,
        }
    }

    /// Reads the profile if the file was saved or somebody asked, and gives the loop through `order` what is new, and what
    /// it had no room for before.
    pub fn follow(&mut self, asked: bool, order: impl FnMut(Command) -> Result<(), ControlError>) {
        let saved = self.watch.as_mut().is_some_and(ProfileWatch::is_due);
        if saved || asked {
            match self.read_again() {
                Ok(change) => self.take(change),
                Err(failure) => tracing::warn!("the profile is refused, nothing changes: {failure}"),
            }
        }
        self.order_waiting(order);
    }

    fn take(&mut self, change: Change) {
        for key in &change.need_restart {
            tracing::warn!("{key} has changed in the profile and needs a restart");
        }
        self.waiting.extend(change.commands);
    }

    /// In order, up to the first that finds no room; the rest waits for the next round.
    fn order_waiting(&mut self, mut order: impl FnMut(Command) -> Result<(), ControlError>) {
        while let Some(command) = self.waiting.front() {
            match order(command.clone()) {
                Ok(()) => tell(command),
                Err(refusal @ ControlError::Busy(_)) => {
                    if !std::mem::replace(&mut self.has_told_of_waiting, true) {
                        tracing::warn!("the changed profile waits: {refusal}");
                    }
                    return;
                }
                // Nothing will ever take it.
                Err(refusal) => tracing::warn!("the profile is not taken over: {refusal}"),
            }
            self.waiting.pop_front();
        }
        self.has_told_of_waiting = false;
    }

    fn read_again(&mut self) -> Result<Change, Failure> {
        let new = open_profile(&self.input)?;
        let change = self.compare(&new)?;
        self.profile = self.merged(new);
        Ok(change)
    }

    /// What it takes to get from the profile in force to another.
    ///
    /// # Errors
    /// When the other must not be used with this device.
    pub fn compare(&self, new: &Profile) -> Result<Change, Failure> {
        if !self.is_simulated {
            new.simulation_only.refuse_on_hardware(self.i_know)?;
        }
        let frame = new.mapping.activate(self.axes).map_err(|error| Failure::BadInput(error.to_string()))?;
        let (old, simulated) = (&self.profile, self.is_simulated);
        let mut commands = Vec::new();
        if new.coupling != old.coupling {
            commands.push(Command::SetGains(new.coupling));
        }
        if new.safety.limits(simulated) != old.safety.limits(simulated) {
            commands.push(Command::SetSafety(new.safety.limits(simulated)));
        }
        if new.mapping != old.mapping {
            commands.push(Command::SetMapping(frame));
        }
        let restarts = [
            ("scene", new.scene.names_other_than(&old.scene)),
            ("device", new.device.names_other_than(&old.device)),
            ("realtime", new.realtime != old.realtime),
            ("view", new.view_listen != old.view_listen),
        ];
        let need_restart = restarts.into_iter().filter_map(|(key, changed)| changed.then_some(key)).collect();
        Ok(Change { commands, need_restart })
    }

    /// The new profile, with what needs a restart as it was.
    fn merged(&self, new: Profile) -> Profile {
        let old = self.profile.clone();
        Profile { scene: old.scene, device: old.device, realtime: old.realtime, view_listen: old.view_listen, ..new }
    }
}

fn tell(command: &Command) {
    match command {
        Command::SetGains(gains) => tracing::info!("new coupling, ramped: {}", in_words(gains)),
        Command::SetSafety(limits) => tracing::info!("new limits: force up to {} N", limits.max_force_n),
        Command::SetMapping(_) => tracing::info!("new mapping: force comes on anew"),
        _ => {}
    }
}

/// What turns is told only where it is coupled.
fn in_words(gains: &Gains) -> String {
    let Gains {
        stiffness_n_per_m,
        damping_n_s_per_m,
        angular_stiffness_n_m_per_rad: stiffness,
        angular_damping_n_m_s_per_rad: damping,
    } = gains;
    let turning = match *stiffness > 0.0 || *damping > 0.0 {
        true => format!(", {stiffness} N·m/rad, {damping} N·m·s/rad"),
        false => String::new(),
    };
    format!("{stiffness_n_per_m} N/m, {damping_n_s_per_m} N·s/m{turning}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_config::profile;
    use haptic_config::source::Source;

    fn profile_of(text: &str) -> Profile {
        profile::load(&Source::in_memory("p.toml", text)).unwrap()
    }

    fn reload(old: &str) -> Reload {
        let setup = Setup::of_profile(profile_of(old), None).unwrap();
        Reload::new(&setup, InputArguments::default(), false)
    }

    fn change(old: &str, new: &str) -> Change {
        reload(old).compare(&profile_of(new)).unwrap()
    }

    #[test]
    fn an_unchanged_profile_changes_nothing() {
        let text = "[coupling]\nstiffness_n_per_m = 300\n";
        let same = change(text, "# said in other words\n[coupling]\nstiffness_n_per_m = 3e2\n[mapping]\nscale = 1\n");
        assert!(same.commands.is_empty() && same.need_restart.is_empty());
    }

    #[test]
    fn each_live_section_becomes_one_order() {
        let all = "[coupling]\nstiffness_n_per_m = 300\n[safety]\nmax_force_n = 3\n[mapping]\nscale = 2\n";
        let commands = change("", all).commands;
        assert!(
            matches!(commands[..], [Command::SetGains(_), Command::SetSafety(_), Command::SetMapping(_)]),
            "{commands:?}"
        );
    }

    #[test]
    fn scene_device_and_realtime_need_a_restart() {
        let new = "scene = \"tower\"\ndevice = \"simulated-1dof\"\n[realtime]\npriority = 70\n";
        let change = change("", new);
        assert_eq!(change.need_restart, ["scene", "device", "realtime"]);
        assert!(change.commands.is_empty());
    }

    fn busy() -> ControlError {
        ControlError::Busy("busy".to_owned())
    }

    #[test]
    fn what_finds_no_room_is_tried_again_in_its_order_and_only_once_taken() {
        let mut reload = reload("");
        let new = profile_of("[coupling]\nstiffness_n_per_m = 300\n[safety]\nmax_force_n = 3\n[mapping]\nscale = 2\n");
        let change = reload.compare(&new).unwrap();
        reload.take(change);
        reload.order_waiting(|_| Err(busy()));
        let mut taken = Vec::new();
        for room in [1, 2] {
            let room = taken.len() + room;
            reload.order_waiting(|command| {
                if taken.len() == room {
                    return Err(busy());
                }
                taken.push(command);
                Ok(())
            });
        }
        assert!(
            matches!(taken[..], [Command::SetGains(_), Command::SetSafety(_), Command::SetMapping(_)]),
            "{taken:?}"
        );
        reload.order_waiting(|command| panic!("{command:?} was taken before"));
    }

    #[test]
    fn nothing_waits_for_a_loop_that_has_ended() {
        let mut reload = reload("");
        reload.take(reload.compare(&profile_of("[coupling]\nstiffness_n_per_m = 300\n")).unwrap());
        reload.order_waiting(|_| Err(ControlError::NotNow("ended".to_owned())));
        reload.order_waiting(|command| panic!("{command:?} was refused for good"));
    }

    #[test]
    fn new_gains_are_told_with_their_damping() {
        let gains = Gains { stiffness_n_per_m: 300.0, damping_n_s_per_m: 0.2, ..Gains::default() };
        assert!(in_words(&gains).starts_with("300 N/m, 0.2 N·s/m"));
        let turning = Gains { angular_stiffness_n_m_per_rad: 0.5, ..gains };
        assert!(in_words(&turning).contains(", 0.5 N·m/rad, "));
    }
}
