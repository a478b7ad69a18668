//! Takes over the terminal for the picture and restores it, however the run ends.

use crate::frame_builder::FrameBuilder;
use crate::keys::{CONTROL_C, Key, KeyReader};
use crate::log_lines;
use crate::render::render;
use haptic_draw::colour::Rgb;
use haptic_draw::view::SceneView;
use haptic_loop::snapshot::Snapshot;
use haptic_planar::scene::Scene;
use haptic_realtime::runner::LoopTiming;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, enable_raw_mode};
use ratatui::style::Color;
use ratatui::{DefaultTerminal, Terminal};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// Minimum time between two pictures, for at most 30 per second.
const BETWEEN_PICTURES: Duration = Duration::from_millis(33);

/// A request made by the user with a key, from the least to the most important.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UserAction {
    /// No request; the run continues.
    Continue,
    /// Request to release an emergency stop: r.
    Release,
    /// Request for an emergency stop: s or Space.
    Stop,
    /// Request to end the run: q, Escape or Ctrl-C.
    End,
}

/// Colours supported by the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colours {
    All,
    Cube,
    None,
}

/// The live picture. Dropping it restores the terminal. A panic on any thread also restores the terminal, before the
/// panic message is printed.
pub struct Screen {
    /// `None` only while the screen is dropped.
    terminal: Option<DefaultTerminal>,
    keys: KeyReader,
    builder: FrameBuilder,
    /// Address of the viewer, if it is running.
    address: Option<String>,
    colours: Colours,
    shown: Option<Instant>,
    /// Whether the user has requested the end of the run.
    is_ending: bool,
}

impl Screen {
    /// Takes over the terminal. Returns `None` if standard output or standard error is not a terminal, or if the
    /// terminal is dumb.
    ///
    /// # Errors
    /// If the terminal cannot be set up.
    pub fn open(scene: &Scene, address: Option<String>) -> io::Result<Option<Self>> {
        let is_dumb = std::env::var_os("TERM").is_none_or(|name| name == "dumb");
        if is_dumb || !io::stdout().is_terminal() || !io::stderr().is_terminal() {
            return Ok(None);
        }
        let keys = KeyReader::open()?;
        let terminal = Some(take_over()?);
        log_lines::begin();
        let builder = FrameBuilder::new(SceneView::new(scene));
        let (colours, shown, is_ending) = (colours_of_terminal(), None, false);
        Ok(Some(Self { terminal, keys, builder, address, colours, shown, is_ending }))
    }

    /// Replaces the displayed scene.
    pub fn change_scene(&mut self, scene: &Scene) {
        self.builder = FrameBuilder::new(SceneView::new(scene));
    }

    /// Shows the newest state, unless the last picture is too recent, and returns the user's request. Never waits for
    /// keys.
    ///
    /// # Errors
    /// If the terminal can no longer be used.
    pub fn show(&mut self, snapshot: &Snapshot, figures: &LoopTiming) -> io::Result<UserAction> {
        // Keys are read before every picture, and also between pictures, because an emergency stop is urgent.
        let action = self.read_keys()?;
        if action == UserAction::Stop || self.shown.is_some_and(|shown| shown.elapsed() < BETWEEN_PICTURES) {
            return Ok(action);
        }
        self.shown = Some(Instant::now());
        let mut frame = self.builder.observe(snapshot, figures, log_lines::newest());
        frame.address.clone_from(&self.address);
        let (view, colours) = (self.builder.view(), self.colours);
        if let Some(terminal) = &mut self.terminal {
            terminal.draw(|target| {
                let mut picture = render(view, &frame, target.area());
                reduce(&mut picture, colours);
                *target.buffer_mut() = picture;
            })?;
        }
        Ok(action)
    }

    /// Returns the most important request of the keys pressed since the last call. A request to end the run lasts.
    fn read_keys(&mut self) -> io::Result<UserAction> {
        let mut action = if self.is_ending { UserAction::End } else { UserAction::Continue };
        for key in self.keys.read(Duration::ZERO)? {
            action = action.max(action_of(key));
        }
        self.is_ending = action == UserAction::End;
        Ok(action)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Some terminals keep the content of the alternate screen after a resize. After a panic, the hook has already
        // restored the terminal and printed the message.
        if let Some(mut terminal) = self.terminal.take()
            && (std::thread::panicking() || terminal.clear().is_err() || terminal.show_cursor().is_err())
        {
            // A terminal that has been closed cannot show its cursor, and its destructor would panic.
            std::mem::forget(terminal);
        }
        restore();
        log_lines::end();
    }
}

/// Takes over the terminal, and restores it if a panic occurs, before its message is printed. Does what
/// `ratatui::try_init` does, but a panic after the terminal has been closed does not abort the process: the loop must
/// still close the device.
fn take_over() -> io::Result<DefaultTerminal> {
    let print_message = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        print_message(panic);
    }));
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen)?;
    Terminal::new(CrosstermBackend::new(io::stdout()))
}

/// Restores the terminal. If it has been closed, there is nothing to restore.
fn restore() {
    drop(ratatui::try_restore());
}

/// Returns the request of a key.
fn action_of(key: Key) -> UserAction {
    match key {
        CONTROL_C | Key::Escape | Key::Character(b'q' | b'Q') => UserAction::End,
        Key::Character(b's' | b'S' | b' ') => UserAction::Stop,
        Key::Character(b'r' | b'R') => UserAction::Release,
        Key::Character(_) | Key::Other => UserAction::Continue,
    }
}

fn colours_of_terminal() -> Colours {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if !variable("NO_COLOR").is_empty() {
        Colours::None
    } else if matches!(&*variable("COLORTERM"), "truecolor" | "24bit") {
        Colours::All
    } else {
        Colours::Cube
    }
}

/// Reduces the colours of a picture to the colours supported by the terminal.
fn reduce(picture: &mut Buffer, colours: Colours) {
    let reduced = |colour: Color| match (colours, colour) {
        (Colours::All, _) => colour,
        (Colours::None, _) => Color::Reset,
        (Colours::Cube, Color::Rgb(red, green, blue)) => Color::Indexed(Rgb(red, green, blue).indexed()),
        (Colours::Cube, other) => other,
    };
    for cell in &mut picture.content {
        (cell.fg, cell.bg) = (reduced(cell.fg), reduced(cell.bg));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    #[test]
    fn q_escape_and_control_c_end_and_others_do_not() {
        let ends = |key| action_of(key) == UserAction::End;
        assert!(ends(Key::Character(b'q')) && ends(Key::Escape) && ends(CONTROL_C));
        assert!(!ends(Key::Character(b'c')) && !ends(Key::Character(b'\r')) && !ends(Key::Other));
    }

    #[test]
    fn s_and_space_stop_r_releases_and_a_stop_outweighs_a_release() {
        let action = |letter| action_of(Key::Character(letter));
        assert_eq!([b's', b'S', b' '].map(action), [UserAction::Stop; 3]);
        assert_eq!(action(b'r'), UserAction::Release);
        assert_eq!(action(b'x'), UserAction::Continue);
        assert_eq!(UserAction::Release.max(UserAction::Stop), UserAction::Stop);
        assert_eq!(UserAction::End.max(UserAction::Stop), UserAction::End, "the end of the run also ends the force");
    }

    #[test]
    fn colours_are_brought_down_to_what_the_terminal_has() {
        let shown = |colours| {
            let mut picture = Buffer::empty(Rect::new(0, 0, 1, 1));
            picture.set_style(Rect::new(0, 0, 1, 1), Style::new().fg(Color::Rgb(255, 0, 0)));
            reduce(&mut picture, colours);
            picture[(0, 0)].fg
        };
        assert_eq!(shown(Colours::All), Color::Rgb(255, 0, 0));
        assert_eq!(shown(Colours::Cube), Color::Indexed(196));
        assert_eq!(shown(Colours::None), Color::Reset);
    }
}
