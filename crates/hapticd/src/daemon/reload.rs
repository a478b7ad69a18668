//! A profile that changes while the daemon runs: what of it is live, what re-engages, what needs a restart.

use super::profile_watch::ProfileWatch;
use crate::cli::InputArguments;
use crate::failure::Failure;
use crate::files::profile::Profile;
use crate::setup::{Setup, open_profile};
use haptic_loop::command::Command;
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
        Self { input, profile: setup.profile.clone(), is_simulated, axes, i_know, watch }
    }

    /// What the loop shall be told, if the file was saved or somebody asked.
    pub fn commands_if_due(&mut self, asked: bool) -> Vec<Command> {
        let saved = self.watch.as_mut().is_some_and(ProfileWatch::is_due);
        if !saved && !asked {
            return Vec::new();
        }
        match self.read_again() {
            Ok(change) => tell(change),
            Err(failure) => {
                tracing::warn!("the profile is refused, nothing changes: {failure}");
                Vec::new()
            }
        }
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
            new.bareness.refuse_on_hardware(self.i_know)?;
        }
        let frame = new.mapping.frame(self.axes).map_err(|error| Failure::BadInput(error.to_string()))?;
        let (old, simulated) = (&self.profile, self.is_simulated);
        let mut commands = Vec::new();
        if new.coupling != old.coupling {
            commands.push(Command::Retune(new.coupling));
        }
        if new.safety.limits(simulated) != old.safety.limits(simulated) {
            commands.push(Command::Protect(new.safety.limits(simulated)));
        }
        if new.mapping != old.mapping {
            commands.push(Command::Remap(frame));
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

fn tell(change: Change) -> Vec<Command> {
    for key in &change.need_restart {
        tracing::warn!("{key} has changed in the profile and needs a restart");
    }
    for command in &change.commands {
        match command {
            Command::Retune(gains) => tracing::info!("new coupling, ramped: {} N/m", gains.stiffness_n_per_m),
            Command::Protect(limits) => tracing::info!("new limits: force up to {} N", limits.max_force_n),
            Command::Remap(_) => tracing::info!("new mapping: force comes on anew"),
            _ => {}
        }
    }
    change.commands
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::profile;
    use crate::files::source::Source;

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
        assert!(matches!(commands[..], [Command::Retune(_), Command::Protect(_), Command::Remap(_)]), "{commands:?}");
    }

    #[test]
    fn scene_device_and_realtime_need_a_restart() {
        let new = "scene = \"tower\"\ndevice = \"simulated-1dof\"\n[realtime]\npriority = 70\n";
        let change = change("", new);
        assert_eq!(change.need_restart, ["scene", "device", "realtime"]);
        assert!(change.commands.is_empty());
    }
}
