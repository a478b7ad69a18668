//! `hapticd install-udev`: installs the udev rules that give users access to haptic devices.

use super::print_line;
use crate::cli::InstallUdevArguments;
use crate::failure::Failure;
use haptic_backends::udev::{RULES, RULES_PATH};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::Command;

/// Program that makes udev read its rules again.
const UDEVADM: &str = "udevadm";

/// Runs of [`UDEVADM`] after which the rules apply, also to devices that are connected already.
const RELOADS: [&[&str]; 2] = [
    &["control", "--reload"],
    &[
        "trigger",
        "--action=add",
        "--subsystem-match=tty",
        "--subsystem-match=usb-serial",
        "--subsystem-match=hidraw",
        "--subsystem-match=input",
    ],
];

/// Runs the command: prints the rules, or writes them and makes udev read them.
///
/// # Errors
/// If the rules cannot be written.
pub fn install_udev(arguments: &InstallUdevArguments) -> Result<(), Failure> {
    if arguments.print {
        return print_line(RULES.trim_end());
    }
    let path = Path::new(RULES_PATH);
    write(path)?;
    print_line(&format!("installed {RULES_PATH}"))?;
    reload(UDEVADM);
    print_line("unplug connected devices and plug them in again")
}

fn write(path: &Path) -> Result<(), Failure> {
    fs::write(path, RULES).map_err(|error| Failure::Runtime(unwritable(path, &error)))
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    let remedy = match error.kind() {
        ErrorKind::PermissionDenied => {
            let program = std::env::current_exe().map_or("hapticd".to_owned(), |program| program.display().to_string());
            format!(
                "run `sudo {program} install-udev`, or `{program} install-udev --print | sudo tee {path}` and \
                 `sudo {UDEVADM} control --reload`"
            )
        }
        ErrorKind::NotFound => "its folder does not exist: install udev, or give the nodes in /dev rights by other \
                                means, as the rules that --print shows do"
            .to_owned(),
        _ => "make the file writable".to_owned(),
    };
    format!("{path}: cannot be written: {error}; {remedy}")
}

/// Makes udev read the rules and apply them. A failure is only a warning, because udev reads them after a restart too.
fn reload(program: &str) {
    for arguments in RELOADS {
        let line = format!("{program} {}", arguments.join(" "));
        tracing::info!("running `{line}`");
        let problem = match Command::new(program).args(arguments).status() {
            Ok(status) if status.success() => continue,
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::warn!("`{line}` failed: {problem}; restart the machine, or udev, for the rules to take effect");
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_testing::TestFolder;

    #[test]
    fn the_rules_are_written_and_replace_older_ones() {
        let folder = TestFolder::new();
        let path = folder.join("70-hapticd.rules");
        fs::write(&path, "older and longer ".repeat(1000)).unwrap();
        write(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), RULES);
    }

    #[test]
    fn rules_that_cannot_be_written_have_a_remedy() {
        let text = |kind: ErrorKind| unwritable(Path::new(RULES_PATH), &kind.into());
        let denied = text(ErrorKind::PermissionDenied);
        assert!(denied.contains("run `sudo /") && denied.contains(" install-udev`, or `/"), "{denied}");
        assert!(denied.contains(" --print | sudo tee /etc/udev/rules.d/70-hapticd.rules`"), "{denied}");
        let missing = write(&TestFolder::new().join("missing/70-hapticd.rules")).unwrap_err();
        assert!(missing.exit_code() == 1 && missing.to_string().contains("its folder does not exist"), "{missing}");
    }

    #[test]
    fn udev_reads_the_rules_before_it_applies_them_and_a_missing_program_is_no_error() {
        let folder = TestFolder::new();
        let (program, log) = (folder.join("udevadm"), folder.join("log"));
        fs::write(&program, format!("#!/bin/sh\necho \"$@\" >> {}\n", log.display())).unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        reload(program.to_str().unwrap());
        let runs = fs::read_to_string(&log).unwrap();
        let words: Vec<&str> = runs.lines().map(|run| run.split(' ').next().unwrap_or_default()).collect();
        assert_eq!(words, ["control", "trigger"]);
        reload(folder.join("missing").to_str().unwrap());
    }
}
