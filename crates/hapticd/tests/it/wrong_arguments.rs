//! Wrong arguments and the messages that answer them. A remedy that names a flag is applied, and the command must then
//! get further.
//!
//! `tests/data/wrong_arguments.txt` holds the arguments, the exit code and the message.
//! `HAPTICD_UPDATE_WRONG_ARGUMENTS=1 cargo test -p hapticd --test it wrong_arguments` rewrites it.

use crate::common::{Folder, stderr};
use std::fmt::Write;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/wrong_arguments.txt");

/// Files that the cases name.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("ball.toml", "[[body]]\nname = \"ball\"\nshape = { disc_radius_m = 0.01 }\n");
    folder.file("unstable.toml", "scene = \"ball.toml\"\n[coupling]\nstiffness_n_per_m = \"350,5\"\n");
    folder.file("damaged.mcap", b"\x89MCAP0\r\n\x01\xff\xff\xff\xff\xff\xff\xff\x7f");
    folder.file("empty.mcap", "");
    folder.file("noise.mcap", [0xA5; 64]);
    folder
}

/// Runs a command and returns its exit code and its message without usage and hints.
fn answer(folder: &Folder, line: &str) -> (i32, String) {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let output = folder.hapticd(&arguments);
    let text = stderr(&output);
    let shown = text.lines().take_while(|line| !line.starts_with("Usage") && !line.starts_with("For more"));
    let shown: Vec<&str> = shown.map(str::trim_end).filter(|line| !line.is_empty()).collect();
    (output.status.code().unwrap_or(-1), shown.join("\n"))
}

/// Returns the flag and the value that a message says to give.
fn flag_to_give(message: &str) -> Option<(&str, &str)> {
    let (_, rest) = message.split_once("; give --").or_else(|| message.split_once(" give --"))?;
    let mut words = rest.split_whitespace();
    Some((words.next()?, words.next()?.trim_end_matches([',', ';'])))
}

/// Returns the arguments with the value of a flag replaced, or with the flag added.
fn with_flag(line: &str, flag: &str, value: &str) -> String {
    let words = line.split_whitespace().collect::<Vec<_>>();
    let (mut kept, mut skips) = (Vec::new(), false);
    for word in words {
        let is_flag = word == format!("--{flag}");
        if !std::mem::take(&mut skips) && !is_flag && !word.starts_with(&format!("--{flag}=")) {
            kept.push(word);
        }
        skips = is_flag;
    }
    format!("{} --{flag} {value}", kept.join(" "))
}

/// Whether the command ends soon if its arguments are right.
fn ends_soon(case: &str) -> bool {
    ["check", "identify", "replay", "simulate", "snapshot", "zwidth"].iter().any(|command| case.starts_with(command))
}

fn cases(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with([' ', '#']))
}

#[test]
fn every_wrong_argument_has_its_answer_and_the_remedy_gets_further() {
    let recorded = std::fs::read_to_string(CASES).unwrap();
    let comments: Vec<&str> = recorded.lines().take_while(|line| line.starts_with('#')).collect();
    let mut answers = format!("{}\n", comments.join("\n"));
    for case in cases(&recorded) {
        let folder = folder();
        let (code, message) = answer(&folder, case);
        assert!(code == 1 || code == 2, "{case} ended with {code}: {message}");
        if let Some((flag, value)) = flag_to_give(&message).filter(|_| ends_soon(case)) {
            let (_, after) = answer(&folder, &with_flag(case, flag, value));
            assert_ne!(after, message, "{case}: --{flag} {value} does not help");
        }
        write!(answers, "\n{case}\n    {code}: {}\n", message.replace('\n', "\n    ")).unwrap();
    }
    assert!(cases(&recorded).count() >= 40);
    if std::env::var_os("HAPTICD_UPDATE_WRONG_ARGUMENTS").is_some() {
        std::fs::write(CASES, answers).unwrap();
    } else {
        assert_eq!(answers, recorded, "if the new messages are better, rewrite {CASES} as described above");
    }
}
