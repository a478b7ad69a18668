//! Applies changes to the profile while the daemon runs. Some changes take effect immediately, some re-engage the
//! force, and some need a restart.

use super::profile_watch::ProfileWatch;
use crate::cli::InputArguments;
use crate::failure::Failure;
use haptic_config::profile::Profile;
use haptic_config::setup::{Setup, open_profile};
use haptic_coupling::coupling::Gains;
use haptic_loop::command::Command;
use haptic_loop::control::ControlError;
use std::collections::VecDeque;
use std::path::Path;

/// Watches the profile and applies its changes.
pub struct Reload {
    input: InputArguments,
    /// The profile as last applied.
    profile: Profile,
    is_simulated: bool,
    axes: u8,
    i_know: bool,
    watch: Option<ProfileWatch>,
    /// Commands that the loop has not accepted yet, in order. `profile` already contains their changes, so a later
    /// comparison would not produce them again.
    pending: VecDeque<Command>,
    /// Whether the warning that the loop is busy has been logged.
    has_warned: bool,
}

/// The difference between two profiles.
#[derive(Debug, Default)]
pub struct Change {
    /// Commands for the loop, in order.
    pub commands: Vec<Command>,
    /// Changed keys that take effect only after a restart.
    pub need_restart: Vec<&'static str>,
}

impl Reload {
    /// Starts watching the profile, if it is a file.
    pub fn new(setup: &Setup, input: InputArguments, i_know: bool) -> Self {
        let watch = input.profile.as_deref().map(Path::new).filter(|path| path.is_file()).and_then(|path| {
            let warn = |error: &notify::Error| {
                tracing::warn!("{}: cannot watch for changes: {error}; send SIGHUP to reload", path.display());
            };
            ProfileWatch::new(path).inspect_err(warn).ok()
        });
        let (is_simulated, axes) = (setup.is_simulated(), setup.device.axes as u8);
        Self {
            input,
            profile: setup.profile.clone(),
            is_simulated,
            axes,
            i_know,
            watch,
            pending: VecDeque::new(),
            has_warned: false,
        }
    }

    /// Reloads the profile if the file was saved or a reload is requested. Passes the new commands to `send`, after any
    /// earlier commands that a busy loop did not accept.
    pub fn poll(&mut self, requested: bool, send: impl FnMut(Command) -> Result<(), ControlError>) {
        let saved = self.watch.as_mut().is_some_and(ProfileWatch::is_due);
        if saved || requested {
            match self.read() {
                Ok(change) => self.enqueue(change),
                Err(failure) => tracing::warn!("profile rejected, settings unchanged: {failure}"),
            }
        }
        self.send_pending(send);
    }

    fn enqueue(&mut self, change: Change) {
        for key in &change.need_restart {
            tracing::warn!("{key} changed in the profile; restart to apply it");
        }
        self.pending.extend(change.commands);
    }

    /// Sends pending commands in order until a busy loop does not accept one; the rest stay pending.
    fn send_pending(&mut self, mut send: impl FnMut(Command) -> Result<(), ControlError>) {
        while let Some(command) = self.pending.front() {
            match send(command.clone()) {
                Ok(()) => log_applied(command),
                Err(error @ ControlError::Busy(_)) => {
                    if !std::mem::replace(&mut self.has_warned, true) {
                        tracing::warn!("the changed profile is delayed: {error}");
                    }
                    return;
                }
                // Retrying does not help.
                Err(error) => tracing::warn!("the changed profile is not applied: {error}"),
            }
            self.pending.pop_front();
        }
        self.has_warned = false;
    }

    fn read(&mut self) -> Result<Change, Failure> {
        let new = open_profile(&self.input)?;
        let change = self.compare(&new)?;
        self.profile = self.merged(new);
        Ok(change)
    }

    /// Returns the difference between the active profile and a new one.
    ///
    /// # Errors
    /// If the new profile must not be used with this device.
    pub fn compare(&self, new: &Profile) -> Result<Change, Failure> {
        if !self.is_simulated {
            new.simulation_only.reject_on_hardware(self.i_know)?;
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
            ("scene", new.scene.differs_from(&old.scene)),
            ("device", new.device.differs_from(&old.device)),
            ("realtime", new.realtime != old.realtime),
            ("view", new.view_listen != old.view_listen),
        ];
        let need_restart = restarts.into_iter().filter_map(|(key, changed)| changed.then_some(key)).collect();
        Ok(Change { commands, need_restart })
    }

    /// Returns the new profile with the old values of the keys that need a restart.
    fn merged(&self, new: Profile) -> Profile {
        let old = self.profile.clone();
        Profile { scene: old.scene, device: old.device, realtime: old.realtime, view_listen: old.view_listen, ..new }
    }
}

fn log_applied(command: &Command) {
    match command {
        Command::SetGains(gains) => tracing::info!("new coupling, ramped: {}", describe(gains)),
        Command::SetSafety(limits) => tracing::info!("new limits: maximum force {} N", limits.max_force_n),
        Command::SetMapping(_) => tracing::info!("new mapping; force re-engages"),
        _ => {}
    }
}

/// Describes gains for the log; angular gains are omitted if they are zero.
fn describe(gains: &Gains) -> String {
    let Gains {
        stiffness_n_per_m,
        damping_n_s_per_m,
        angular_stiffness_n_m_per_rad: stiffness,
        angular_damping_n_m_s_per_rad: damping,
    } = gains;
    let angular = match *stiffness > 0.0 || *damping > 0.0 {
        true => format!(", {stiffness} N·m/rad, {damping} N·m·s/rad"),
        false => String::new(),
    };
    format!("{stiffness_n_per_m} N/m, {damping_n_s_per_m} N·s/m{angular}")
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
        let setup = Setup::from_profile(profile_of(old), None, haptic_backends::KINDS).unwrap();
        Reload::new(&setup, InputArguments::default(), false)
    }

    fn change(old: &str, new: &str) -> Change {
        reload(old).compare(&profile_of(new)).unwrap()
    }

    #[test]
    fn an_unchanged_profile_changes_nothing() {
        let text = "[coupling]\nstiffness_n_per_m = 300\n";
        let same = change(
            text,
            "# the same, written differently\n[coupling]\nstiffness_n_per_m = 3e2\n[mapping]\nscale = 1\n",
        );
        assert!(same.commands.is_empty() && same.need_restart.is_empty());
    }

    #[test]
    fn each_live_section_becomes_one_command() {
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
    fn commands_a_busy_loop_rejects_are_sent_again_in_order_and_only_once() {
        let mut reload = reload("");
        let new = profile_of("[coupling]\nstiffness_n_per_m = 300\n[safety]\nmax_force_n = 3\n[mapping]\nscale = 2\n");
        let change = reload.compare(&new).unwrap();
        reload.enqueue(change);
        reload.send_pending(|_| Err(busy()));
        let mut accepted = Vec::new();
        for more in [1, 2] {
            let capacity = accepted.len() + more;
            reload.send_pending(|command| {
                if accepted.len() == capacity {
                    return Err(busy());
                }
                accepted.push(command);
                Ok(())
            });
        }
        assert!(
            matches!(accepted[..], [Command::SetGains(_), Command::SetSafety(_), Command::SetMapping(_)]),
            "{accepted:?}"
        );
        reload.send_pending(|command| panic!("{command:?} was accepted before"));
    }

    #[test]
    fn nothing_stays_pending_for_a_loop_that_has_ended() {
        let mut reload = reload("");
        reload.enqueue(reload.compare(&profile_of("[coupling]\nstiffness_n_per_m = 300\n")).unwrap());
        reload.send_pending(|_| Err(ControlError::NotNow("ended".to_owned())));
        reload.send_pending(|command| panic!("{command:?} was rejected for good"));
    }

    #[test]
    fn new_gains_are_logged_with_their_damping() {
        let gains = Gains { stiffness_n_per_m: 300.0, damping_n_s_per_m: 0.2, ..Gains::default() };
        assert!(describe(&gains).starts_with("300 N/m, 0.2 N·s/m"));
        let angular = Gains { angular_stiffness_n_m_per_rad: 0.5, ..gains };
        assert!(describe(&angular).contains(", 0.5 N·m/rad, "));
    }
}
