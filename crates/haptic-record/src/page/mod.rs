//! HTML page with plots of a recording: a single file that needs no network access, with a light and a dark theme.
//!
//! `gathered` collects the ticks, `plots` prepares the data of the plots, and `summary` computes the figures for a
//! paper. This module combines them with a small script that draws the plots.

pub mod gathered;
mod plots;
mod summary;

use gathered::TickColumns;
use haptic_planar::scene::Scene;
use std::fmt::Write;

/// Contents of the page other than the ticks.
pub struct Facts<'a> {
    /// Name of the recording.
    pub title: String,
    /// Settings as keys and values, in display order.
    pub settings: Vec<(String, String)>,
    /// Names and texts of the files used in the run.
    pub texts: Vec<(String, String)>,
    /// Events, in display order.
    pub events: Vec<EventLine>,
    /// Scene at the start of the recording.
    pub scene: &'a Scene,
    /// Warnings for the top of the page, for example that the recording is truncated.
    pub warnings: Vec<String>,
}

/// A line in the list of events.
#[derive(Clone, Debug, PartialEq)]
pub struct EventLine {
    /// World time of the event, s: the tick number times 1 ms.
    pub time_s: f64,
    /// Level: 2 is information, 3 a warning.
    pub level: u8,
    /// Text of the event.
    pub text: String,
}

/// Maximum number of events listed on the page.
const EVENTS_LISTED: usize = 500;

/// Returns the complete page as HTML.
pub fn page(gathered: &TickColumns, facts: &Facts<'_>) -> String {
    let summary = summary::Summary::of(gathered);
    let title = escaped(&facts.title);
    let warnings: String =
        facts.warnings.iter().map(|text| format!("<p class=\"warn-text\">{}</p>", escaped(text))).collect();
    let data = plots::data(gathered, facts, &summary);
    // The script must not contain its own end tag, which could occur in the text of an event.
    let data = data.to_string().replace("</", "<\\/");
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}</title><style>{css}</style></head><body><main>\
         <h1>{title}</h1><p class=\"lead\">{lead}</p>{warnings}{cards}<div class=\"plots\"></div>\
         <section><h2>Summary</h2>{table}{paper}</section>\
         <section><h2>Events</h2>{events}</section><section><h2>Settings</h2>{settings}{texts}</section>\
         <footer>Drag over a time plot to zoom, shift and wheel to zoom at the pointer, double click to see all. Made by \
         hapticd {version}.</footer></main>\
         <script>const DATA={data};\n{script}</script></body></html>\n",
        css = include_str!("page.css"),
        lead = escaped(&summary.lead(gathered)),
        cards = summary.cards(gathered),
        table = summary.table(),
        paper = summary.paper(gathered),
        events = event_table(&facts.events),
        settings = settings_table(&facts.settings),
        texts = texts(&facts.texts),
        version = env!("CARGO_PKG_VERSION"),
        script = include_str!("page.js"),
    )
}

fn event_table(events: &[EventLine]) -> String {
    if events.is_empty() {
        return "<p>none</p>".to_owned();
    }
    let mut table = String::from("<table><thead><tr><th>time / s</th><th class=\"text\">what</th></tr></thead><tbody>");
    for event in events.iter().take(EVENTS_LISTED) {
        let class = if event.level > 2 { "text warn-text" } else { "text" };
        // Writing to a string cannot fail.
        let _ =
            write!(table, "<tr><td>{:.3}</td><td class=\"{class}\">{}</td></tr>", event.time_s, escaped(&event.text));
    }
    let more = events.len().saturating_sub(EVENTS_LISTED);
    let rest = if more > 0 { format!("<p>and {more} more</p>") } else { String::new() };
    table + "</tbody></table>" + &rest
}

fn settings_table(settings: &[(String, String)]) -> String {
    let rows: String = settings
        .iter()
        .map(|(key, value)| format!("<tr><td>{}</td><td class=\"text\">{}</td></tr>", escaped(key), escaped(value)))
        .collect();
    format!("<table><tbody>{rows}</tbody></table>")
}

fn texts(texts: &[(String, String)]) -> String {
    let one = |(name, text): &(String, String)| {
        format!("<details><summary>{}</summary><pre>{}</pre></details>", escaped(name), escaped(text))
    };
    texts.iter().map(one).collect()
}

/// Escapes the characters that have a special meaning in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(escaped("<b>&\""), "&lt;b&gt;&amp;&quot;");
    }

    #[test]
    fn many_events_are_cut_and_counted() {
        let event = EventLine { time_s: 1.0, level: 3, text: "fault".to_owned() };
        let table = event_table(&vec![event; EVENTS_LISTED + 7]);
        assert!(table.ends_with("<p>and 7 more</p>"));
    }
}
