//! Takes over the terminal for the picture and restores it, however the run ends.

use crate::frame_builder::FrameBuilder;
use crate::log_lines;
use crate::render::render;
use haptic_draw::colour::Rgb;
use haptic_draw::view::SceneView;
use haptic_loop::snapshot::Snapshot;
use haptic_planar::scene::Scene;
use haptic_realtime::runner::LoopTiming;
use ratatui::DefaultTerminal;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::style::Color;
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
    terminal: DefaultTerminal,
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
        // This also installs a panic hook that restores the terminal before the message is printed.
        let terminal = ratatui::try_init()?;
        log_lines::begin();
        let builder = FrameBuilder::new(SceneView::new(scene));
        let (colours, shown, is_ending) = (colours_of_terminal(), None, false);
        Ok(Some(Self { terminal, builder, address, colours, shown, is_ending }))
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
        self.terminal.draw(|target| {
            let mut picture = render(view, &frame, target.area());
            reduce(&mut picture, colours);
            *target.buffer_mut() = picture;
        })?;
        Ok(action)
    }

    /// Returns the most important request of the keys pressed since the last call. A request to end the run lasts.
    fn read_keys(&mut self) -> io::Result<UserAction> {
        let mut action = if self.is_ending { UserAction::End } else { UserAction::Continue };
        while event::poll(Duration::ZERO)? {
            if let Event::Key(key) = event::read()? {
                action = action.max(action_of(&key));
            }
        }
        self.is_ending = action == UserAction::End;
        Ok(action)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // After a panic, the hook has already restored the terminal and printed the message.
        if !std::thread::panicking() {
            // Some terminals keep the content of the alternate screen after a resize.
            drop(self.terminal.clear());
            ratatui::restore();
        }
        log_lines::end();
    }
}

/// Returns the request of a key. In raw mode, Ctrl-C arrives as a key event. Modifiers do not matter for a stop.
fn action_of(key: &KeyEvent) -> UserAction {
    match key.code {
        _ if key.kind == KeyEventKind::Release => UserAction::Continue,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => UserAction::End,
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => UserAction::End,
        KeyCode::Char('s' | 'S' | ' ') => UserAction::Stop,
        KeyCode::Char('r' | 'R') if key.kind == KeyEventKind::Press => UserAction::Release,
        _ => UserAction::Continue,
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
        let ends = |code, modifiers| action_of(&KeyEvent::new(code, modifiers)) == UserAction::End;
        assert!(ends(KeyCode::Char('q'), KeyModifiers::NONE) && ends(KeyCode::Esc, KeyModifiers::NONE));
        assert!(ends(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert!(!ends(KeyCode::Char('c'), KeyModifiers::NONE) && !ends(KeyCode::Enter, KeyModifiers::NONE));
    }

    #[test]
    fn s_and_space_stop_r_releases_and_a_stop_outweighs_a_release() {
        let action = |letter| action_of(&KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
        assert_eq!(['s', 'S', ' '].map(action), [UserAction::Stop; 3]);
        assert_eq!(action('r'), UserAction::Release);
        assert_eq!(action('x'), UserAction::Continue);
        let up = KeyEvent::new_with_kind(KeyCode::Char('s'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(action_of(&up), UserAction::Continue);
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
