//! Renders a frame as text: title, picture, caption and figures, for any terminal size.

use crate::canvas::Canvas;
use crate::frame::{FIGURES, Frame};
use crate::paint::paint;
use haptic_draw::colour::Rgb;
use haptic_draw::view::SceneView;
use haptic_loop::engagement::Phase;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// Minimum terminal width, columns, for placing the figures beside the picture instead of below it.
const WIDE: u16 = 110;
/// Width of the figures beside the picture, columns.
const SIDE_COLUMNS: u16 = 25;
/// Width of one figure, columns: with its full name, and with its short name.
const FIGURE_COLUMNS: [u16; 2] = [24, 20];
/// Minimum height of the picture, rows.
const MIN_ROWS: u16 = 4;

const BRIGHT: Color = Color::Rgb(0xf8, 0xf9, 0xfa);
const DIM: Color = Color::Rgb(0x8d, 0x99, 0xae);
const WARNING: Color = Color::Rgb(0xff, 0xd1, 0x66);
const STOPPED: Color = Color::Rgb(0xff, 0x4d, 0x4d);

/// Width of the title without the keys, columns.
const TITLE_COLUMNS: u16 = 30;

/// Position of each part of the screen.
struct Layout {
    title: Rect,
    picture: Rect,
    caption: Rect,
    address: Rect,
    figures: Rect,
    notice: Rect,
}

/// Renders a frame into a rectangle of any size.
pub fn render(view: &SceneView, frame: &Frame, area: Rect) -> Buffer {
    let mut buffer = Buffer::empty(area);
    let layout = lay_out(area, frame);
    write_title(&mut buffer, layout.title, frame);
    draw_picture(&mut buffer, layout.picture, view, frame);
    let caption = Style::new().fg(if is_stopped(frame) { STOPPED } else { BRIGHT }).add_modifier(Modifier::BOLD);
    write(&mut buffer, layout.caption, 1, &frame.caption, caption);
    write_address(&mut buffer, layout.address, frame);
    write_figures(&mut buffer, layout.figures, frame);
    write(&mut buffer, layout.notice, 1, frame.notice.as_deref().unwrap_or_default(), Style::new().fg(WARNING));
    buffer
}

/// Arranges the parts of the screen. Text lines have priority as long as the picture keeps `MIN_ROWS` rows. In a wide
/// terminal, the figures are beside the picture.
fn lay_out(area: Rect, frame: &Frame) -> Layout {
    let is_wide = area.width >= WIDE;
    let [figures_wanted, notice_wanted] =
        [if is_wide { 0 } else { figure_rows(area.width) }, u16::from(frame.notice.is_some())];
    let mut rows = area.height;
    let mut take = |wanted: u16| {
        let taken = if rows >= wanted + MIN_ROWS { wanted } else { 0 };
        rows -= taken;
        taken
    };
    let (caption, title, address) = (take(1), take(1), take(address_rows(area.width, frame)));
    let (figures, notice) = (take(figures_wanted), take(notice_wanted));
    let side = if is_wide { SIDE_COLUMNS } else { 0 };
    let line = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
    let picture = Rect { width: area.width - side, ..line(title, rows) };
    let below = title + rows;
    Layout {
        title: line(0, title),
        picture,
        caption: line(below, caption),
        address: line(below + caption, address),
        figures: if is_wide {
            Rect { x: area.x + picture.width, width: side, ..line(title, rows) }
        } else {
            line(below + caption + address, figures)
        },
        notice: line(below + caption + address + figures, notice),
    }
}

/// Returns the number of rows for the address. A long address is wrapped, because a truncated one is useless.
fn address_rows(width: u16, frame: &Frame) -> u16 {
    let length = address_text(frame).map_or(0, |text| text.chars().count() as u16);
    length.div_ceil(width.saturating_sub(1).max(1))
}

fn address_text(frame: &Frame) -> Option<String> {
    frame.address.as_ref().map(|address| format!("Viewer: {address}"))
}

fn write_address(buffer: &mut Buffer, area: Rect, frame: &Frame) {
    let letters: Vec<char> = address_text(frame).unwrap_or_default().chars().collect();
    for (row, part) in letters.chunks(usize::from(area.width.saturating_sub(1).max(1))).enumerate() {
        if row < usize::from(area.height) {
            let line = Rect { y: area.y + row as u16, height: 1, ..area };
            write(buffer, line, 1, &part.iter().collect::<String>(), Style::new().fg(DIM));
        }
    }
}

/// Returns the number of figures per row and the width of each, columns. Full names are used if a row has space for
/// three figures with full names, or for no more than one figure.
fn figures_across(width: u16) -> (u16, u16) {
    let [full, short] = FIGURE_COLUMNS;
    let is_wide_enough = width >= 3 * full || (full..2 * short).contains(&width);
    let columns = if is_wide_enough { full } else { short };
    ((width / columns).max(1), columns)
}

fn figure_rows(width: u16) -> u16 {
    (FIGURES as u16).div_ceil(figures_across(width).0)
}

fn write_title(buffer: &mut Buffer, line: Rect, frame: &Frame) {
    write(buffer, line, 1, "hapticd", Style::new().fg(BRIGHT).add_modifier(Modifier::BOLD));
    let elapsed = format!("{:.1} s  ", frame.figures.elapsed_s);
    write(buffer, line, 10, &elapsed, Style::new().fg(DIM));
    let alarm = Style::new().fg(STOPPED).add_modifier(Modifier::BOLD);
    let (phase, keys) = if is_stopped(frame) {
        (alarm, ["r releases  q quits", "r releases"])
    } else {
        (Style::new().fg(DIM), ["s emergency stop  q quits", "s stops"])
    };
    write(buffer, line, 10 + elapsed.len() as u16, frame.phase, phase);
    let fitting = keys.iter().find(|keys| line.width > TITLE_COLUMNS + keys.len() as u16 + 1);
    if let Some(keys) = fitting {
        write(buffer, line, line.width - keys.len() as u16 - 1, keys, Style::new().fg(DIM));
    }
}

fn is_stopped(frame: &Frame) -> bool {
    frame.phase == Phase::Stopped.name()
}

fn write_figures(buffer: &mut Buffer, area: Rect, frame: &Frame) {
    let (across, columns) = figures_across(area.width);
    let has_full_names = columns == FIGURE_COLUMNS[0];
    for (index, entry) in frame.table().iter().enumerate() {
        let (column, row) = (index as u16 % across * columns, index as u16 / across);
        if row >= area.height {
            return;
        }
        let line = Rect { y: area.y + row, height: 1, ..area };
        let (name, value_at) = if has_full_names { (entry.name, 13) } else { (entry.short_name, 10) };
        write(buffer, line, column + 1, name, Style::new().fg(DIM));
        write(buffer, line, column + value_at, &entry.value, Style::new().fg(BRIGHT));
    }
}

/// Writes text into the first row of a rectangle, starting at `column`, and truncates it at the right edge.
fn write(buffer: &mut Buffer, line: Rect, column: u16, text: &str, style: Style) {
    if line.height > 0 && column < line.width {
        buffer.set_stringn(line.x + column, line.y, text, usize::from(line.width - column), style);
    }
}

fn draw_picture(buffer: &mut Buffer, area: Rect, view: &SceneView, frame: &Frame) {
    let mut canvas = Canvas::new(area.width.into(), area.height.into());
    if area.is_empty() || frame.bounds.is_empty() {
        return;
    }
    paint(&mut canvas, view, frame);
    for (column, row) in (0..area.height).flat_map(|row| (0..area.width).map(move |column| (column, row))) {
        let cell = canvas.cell(column.into(), row.into());
        let target = &mut buffer[(area.x + column, area.y + row)];
        let colour = |rgb: Option<Rgb>| rgb.map_or(Color::Reset, |Rgb(red, green, blue)| Color::Rgb(red, green, blue));
        target.set_char(if cell.ink.is_some() { cell.symbol } else { ' ' });
        target.set_fg(colour(cell.ink)).set_bg(colour(cell.tint));
    }
}
