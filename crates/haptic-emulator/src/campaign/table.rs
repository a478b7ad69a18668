//! The results of a campaign as a Markdown table, and as a list of what is over its limits.

use super::backend::{BACKENDS, Backend};
use super::disturbance::Disturbance;
use super::measure::Figures;
use super::verdict::{Exception, exception, limits};
use std::fmt::Write;

/// Line of a document before the tables.
const BEGIN: &str = "<!-- faults:begin -->";
/// Line of a document after the tables.
const END: &str = "<!-- faults:end -->";

/// Columns at which the reasons are wrapped.
const COLUMNS: usize = 120;

/// Results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Figures of the cells.
    pub cells: Vec<Figures>,
    /// Exceptions from the limits.
    pub exceptions: Vec<Exception>,
}

/// Whether a disturbance can happen to a backend.
pub fn applies(disturbance: Disturbance, backend: &Backend) -> bool {
    backend.has_dead_man || !disturbance.needs_dead_man()
}

impl Results {
    fn cell(&self, disturbance: Disturbance, backend: &Backend) -> Option<&Figures> {
        let name = disturbance.name();
        self.cells.iter().find(|cell| cell.backend == backend.name() && cell.fault == name)
    }

    /// Everything that is wrong, one line each: cells that are over their limits, and cells without figures.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for backend in &BACKENDS {
            for disturbance in Disturbance::all().into_iter().filter(|disturbance| applies(*disturbance, backend)) {
                let violations = match self.cell(disturbance, backend) {
                    Some(cell) => limits(&self.exceptions, disturbance, backend).violations(cell),
                    None => vec!["there are no figures".to_owned()],
                };
                let prefix = format!("{} {}", backend.name(), disturbance.name());
                problems.extend(violations.into_iter().map(|violation| format!("{prefix}: {violation}")));
            }
        }
        problems
    }

    /// The tables, one for each backend, with the reasons of the exceptions below.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for backend in &BACKENDS {
            let _ = writeln!(text, "**{}**\n", backend.name());
            let _ = writeln!(
                text,
                "| fault | motors off after | largest force | energy, pressing and leaving | force back after | logged |"
            );
            let _ = writeln!(text, "|---|---|---|---|---|---|");
            for disturbance in Disturbance::all() {
                if applies(disturbance, backend) {
                    let _ = writeln!(text, "{}", self.row(disturbance, backend));
                }
            }
            text.push('\n');
        }
        text + &self.reasons()
    }

    fn row(&self, disturbance: Disturbance, backend: &Backend) -> String {
        let name = disturbance.name();
        let Some(cell) = self.cell(disturbance, backend) else { return format!("| {name} | no figures | | | | |") };
        let is_over = !limits(&self.exceptions, disturbance, backend).violations(cell).is_empty();
        let mark = if is_over { " **over**" } else { "" };
        let note = self.note(disturbance, backend).map_or(String::new(), |number| format!(" ({number})"));
        let milliseconds = |after_ms: Option<f64>| after_ms.map_or("–".to_owned(), |ms| format!("{ms:.1} ms"));
        let back = match cell.back_after_ms {
            Some(0.0) => "stayed".to_owned(),
            other => milliseconds(other),
        };
        format!(
            "| {name}{note}{mark} | {} | {:.2} N | {:.2} mJ, {:.2} mJ | {back} | {} |",
            milliseconds(cell.off_after_ms),
            cell.force_max_n,
            cell.pressing_mj,
            cell.leaving_mj,
            logged(cell),
        )
    }

    /// Number of the reason for a cell's exception.
    fn note(&self, disturbance: Disturbance, backend: &Backend) -> Option<usize> {
        let meant = exception(&self.exceptions, disturbance, backend)?;
        self.exceptions.iter().position(|exception| std::ptr::eq(exception, meant)).map(|index| index + 1)
    }

    fn reasons(&self) -> String {
        let lines = self.exceptions.iter().enumerate();
        lines
            .map(|(index, exception)| {
                wrapped(&format!("{}. ", index + 1), &format!("{}: {}", exception.fault, exception.reason))
            })
            .collect()
    }
}

/// Returns an entry of a list, wrapped and indented by the length of its number.
fn wrapped(number: &str, text: &str) -> String {
    let (mut lines, mut line) = (String::new(), number.to_owned());
    for word in text.split(' ') {
        if line.chars().count() + word.chars().count() > COLUMNS {
            let _ = writeln!(lines, "{}", line.trim_end());
            line = " ".repeat(number.len());
        }
        line += word;
        line.push(' ');
    }
    let _ = writeln!(lines, "{}", line.trim_end());
    lines
}

fn logged(cell: &Figures) -> String {
    let stale = match cell.stale {
        0 => None,
        1 => Some("1 stale tick".to_owned()),
        ticks => Some(format!("{ticks} stale ticks")),
    };
    let exit = match cell.exit_code {
        Some(0) => None,
        Some(code) => Some(format!("exit code {code}")),
        None => Some("killed".to_owned()),
    };
    let parts: Vec<String> = cell.logged.iter().cloned().chain(stale).chain(exit).collect();
    if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
}

/// Replaces what is between the markers of a document.
///
/// # Errors
/// If the document does not have both markers.
pub fn insert(document: &str, tables: &str) -> Result<String, String> {
    let missing = || format!("the lines {BEGIN} and {END} are missing");
    let (before, rest) = document.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", tables.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(backend: &Backend, disturbance: Disturbance) -> Figures {
        Figures {
            backend: backend.name().to_owned(),
            fault: disturbance.name(),
            off_after_ms: Some(1.2),
            back_after_ms: Some(0.0),
            exit_code: Some(0),
            ..Figures::default()
        }
    }

    fn all() -> Results {
        let cells_of = |backend: &'static Backend| Disturbance::all().into_iter().map(move |it| cell(backend, it));
        Results { cells: BACKENDS.iter().flat_map(cells_of).collect(), exceptions: Vec::new() }
    }

    #[test]
    fn a_complete_campaign_within_its_limits_has_no_problems() {
        assert_eq!(all().problems(), [""; 0]);
        assert!(!all().markdown().contains("over") && !all().markdown().contains("no figures"));
    }

    #[test]
    fn a_cell_without_figures_and_a_cell_over_its_limits_are_problems() {
        let mut results = all();
        results.cells.retain(|cell| cell.backend != "odrive" || cell.fault != "late");
        results.cells[0].leaving_mj = 37.0;
        assert_eq!(results.problems(), ["native-1dof frozen: over 1 mJ", "odrive late: there are no figures"]);
        assert!(results.markdown().contains("| frozen **over** | 1.2 ms | 0.00 N | 0.00 mJ, 37.00 mJ | stayed | – |"));
    }

    #[test]
    fn a_reason_is_numbered_where_it_applies() {
        let mut results = all();
        results.cells[0].leaving_mj = 37.0;
        results.exceptions.push(Exception {
            fault: "frozen".to_owned(),
            backends: vec!["native-1dof".to_owned()],
            reason: "it looks like a hand that rests".to_owned(),
            energy_mj: Some(100.0),
            ..Exception::default()
        });
        assert_eq!(results.problems(), [""; 0]);
        let text = results.markdown();
        assert!(text.contains("| frozen (1) | 1.2 ms") && text.contains("1. frozen: it looks like a hand that rests"));
        assert_eq!(text.matches("frozen (1)").count(), 1);
    }

    #[test]
    fn stale_ticks_are_counted_in_the_last_column() {
        let logged_for = |stale| logged(&Figures { stale, exit_code: Some(0), ..Figures::default() });
        assert_eq!([0, 1, 2].map(logged_for), ["–", "1 stale tick", "2 stale ticks"]);
    }

    #[test]
    fn tables_are_written_between_the_markers_only() {
        let document = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        assert_eq!(insert(&document, "new\n").unwrap(), format!("a\n{BEGIN}\nnew\n{END}\nb\n"));
        assert!(insert("a\n", "new").unwrap_err().contains("missing"));
    }
}
