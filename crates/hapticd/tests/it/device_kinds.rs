//! The table of device kinds is the only list of kinds: documentation and help agree with it.

use haptic_backends::{BACKENDS, KINDS};
use haptic_config::device;
use haptic_config::source::Source;
use haptic_device::KindSpec;
use haptic_emulator::emulators::EMULATORS;
use std::process::Command;

fn document(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Returns the rows of the table of kinds, as in the documentation.
fn rows() -> String {
    BACKENDS.iter().map(|backend| format!("| `{}` | {} |\n", backend.spec.name, backend.spec.about)).collect()
}

#[test]
fn the_readme_has_the_table_of_kinds() {
    assert!(document("README.md").contains(&format!("|---|---|\n{}\n", rows())), "write into README.md:\n{}", rows());
}

#[test]
fn the_guide_to_devices_covers_every_kind() {
    let guide = document("docs/devices.md");
    for KindSpec { name, .. } in BACKENDS.iter().map(|backend| backend.spec) {
        assert!(guide.contains(&format!("kind = \"{name}\"")), "docs/devices.md has no device file of kind {name}");
    }
}

#[test]
fn every_key_of_a_kind_is_a_key_of_device_files() {
    for kind in KINDS {
        for key in kind.keys {
            let text = format!("kind = \"{}\"\n{key} = []\n", kind.name);
            let errors = device::load(&Source::in_memory("d.toml", &text), KINDS).unwrap_err().to_string();
            assert!(!errors.contains("unknown key"), "{}: {errors}", kind.name);
        }
    }
}

fn help_of(command: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_hapticd")).args([command, "--help"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_offers_auto_for_every_command_that_drives_hardware() {
    for command in ["run", "identify", "zwidth"] {
        assert!(help_of(command).contains("`auto`"), "{command}");
    }
    for command in ["simulate", "snapshot"] {
        assert!(help_of(command).contains("--device") && !help_of(command).contains("auto"), "{command}");
    }
}

#[test]
fn help_lists_every_emulator() {
    let help = help_of("emulate");
    for emulator in &EMULATORS {
        assert!(help.contains(&format!("- {}:", emulator.name)) && help.contains(emulator.about), "{help}");
    }
}
