//! Helpers shared by several tests.

pub mod daemon;

use haptic_testing::TestFolder;
use serde_json::Value;
use std::ops::Deref;
use std::process::{Child, Command, Output};
use std::time::Duration;

/// Upper bound on every wait. It is far longer than anything here takes, so a wait fails only if its event never
/// happens.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A folder in which the program runs.
pub struct Folder(TestFolder);

impl Folder {
    pub fn new() -> Self {
        Self(TestFolder::new())
    }

    /// Writes a file and returns its name, which is also its path for a program that runs here.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        self.write(name, content);
        name.to_owned()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
        command.args(arguments);
        self.run_here(&mut command);
        command
    }

    /// Sets the folder and the environment of a command.
    pub fn run_here(&self, command: &mut Command) {
        command.current_dir(self.path()).env_remove("RUST_LOG").env("XDG_STATE_HOME", self.path());
    }

    pub fn hapticd(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that must succeed, and returns its output.
    #[track_caller]
    pub fn done(&self, arguments: &[&str]) -> String {
        let output = self.hapticd(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must succeed, and returns its output as JSON.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.done(arguments)).unwrap()
    }

    /// Runs a command that must end with this exit code, and returns its messages.
    #[track_caller]
    pub fn ended(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.hapticd(arguments);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        stderr(&output)
    }
}

impl Deref for Folder {
    type Target = TestFolder;

    fn deref(&self) -> &TestFolder {
        &self.0
    }
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A process that is killed when dropped.
pub struct Process(pub Child);

impl Process {
    pub fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap().success());
    }

    /// Sends a signal that ends a daemon, which must succeed, and returns its summary.
    pub fn end(self, signal: &str) -> Value {
        self.end_with(signal, 0)
    }

    /// Sends a signal that ends a daemon with this exit code, and returns its summary.
    pub fn end_with(mut self, signal: &str, code: i32) -> Value {
        self.signal(signal);
        let summary = serde_json::from_reader(self.0.stdout.take().unwrap()).unwrap();
        assert_eq!(self.0.wait().unwrap().code(), Some(code));
        summary
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
