//! The subcommands of the campaign: `faults` runs cells, `faults-table` compares their figures with the limits and
//! writes the tables.

use super::backend::{BACKENDS, Backend};
use super::disturbance::Disturbance;
use super::hand::Behaviour;
use super::measure::Figures;
use super::table::{Results, applies, insert};
use super::trial::{Outcome, Trial};
use super::verdict::limits;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Cells of the short form: a silence that the host notices, and one that only the board notices.
const SHORT_BACKENDS: &str = "native-2dof";
const SHORT_FAULTS: &str = "cut-out,killed";

/// Cells to run, and where.
#[derive(Clone, Debug)]
struct Plan {
    daemon: PathBuf,
    folder: PathBuf,
    backends: Vec<&'static Backend>,
    disturbances: Vec<Disturbance>,
}

impl Plan {
    fn parse(options: &[String]) -> Result<Self, String> {
        let mut plan = Self {
            daemon: PathBuf::from("hapticd"),
            folder: std::env::temp_dir().join(format!("haptic-faults-{}", std::process::id())),
            backends: BACKENDS.iter().collect(),
            disturbances: Disturbance::all(),
        };
        let (short, options) = match options {
            [first, rest @ ..] if first == "--short" => (true, rest),
            _ => (false, options),
        };
        if short {
            (plan.backends, plan.disturbances) = (backends(SHORT_BACKENDS)?, disturbances(SHORT_FAULTS)?);
        }
        for pair in options.chunks(2) {
            match pair {
                [name, value] if name == "--hapticd" => plan.daemon = PathBuf::from(value),
                [name, value] if name == "--backends" => plan.backends = backends(value)?,
                [name, value] if name == "--faults" => plan.disturbances = disturbances(value)?,
                _ => {
                    return Err(format!(
                        "{}: give --hapticd, --backends or --faults with a value, or --short first",
                        pair.join(" ")
                    ));
                }
            }
        }
        Ok(plan)
    }

    fn outcomes(&self, backend: &'static Backend, disturbance: Disturbance) -> Result<[Outcome; 2], String> {
        let run = |behaviour| Trial { backend, disturbance, behaviour }.run(&self.daemon, &self.folder);
        let error = |error: std::io::Error| error.to_string();
        Ok([run(Behaviour::Presses).map_err(error)?, run(Behaviour::Leaves).map_err(error)?])
    }

    /// Runs all cells of a backend and passes each to `report`. A cell that fails has an error in place of figures.
    fn run_backend(&self, backend: &'static Backend, report: &mut dyn FnMut(&Value)) {
        let failed = |disturbance: Disturbance, error: &str| json!({"backend": backend.name(), "fault": disturbance.name(), "error": error});
        let references = match self.outcomes(backend, Disturbance::Nothing) {
            Ok(references) => references,
            Err(error) => return report(&failed(Disturbance::Nothing, &error)),
        };
        for disturbance in self.disturbances.iter().filter(|disturbance| applies(**disturbance, backend)) {
            report(&match self.outcomes(backend, *disturbance) {
                Ok(outcomes) => cell(backend, *disturbance, &outcomes, &references),
                Err(error) => failed(*disturbance, &error),
            });
        }
    }
}

/// Figures of a cell as JSON, with what is over the limits that hold without exceptions.
fn cell(backend: &Backend, disturbance: Disturbance, outcomes: &[Outcome; 2], references: &[Outcome; 2]) -> Value {
    let figures = Figures::new(backend.name(), disturbance, outcomes, references);
    let over = limits(&[], disturbance, backend).violations(&figures);
    let mut cell = serde_json::to_value(figures).unwrap_or(Value::Null);
    cell["over"] = json!(over);
    cell
}

fn backends(names: &str) -> Result<Vec<&'static Backend>, String> {
    let known = BACKENDS.iter().map(Backend::name).collect::<Vec<_>>().join(", ");
    let find = |name| Backend::by_name(name).ok_or_else(|| format!("{name} is not a backend; give some of {known}"));
    names.split(',').map(find).collect()
}

fn disturbances(names: &str) -> Result<Vec<Disturbance>, String> {
    let known = Disturbance::all().into_iter().map(Disturbance::name).collect::<Vec<_>>().join(", ");
    let find = |name: &str| Disturbance::all().into_iter().find(|disturbance| disturbance.name() == name);
    names
        .split(',')
        .map(|name| find(name).ok_or_else(|| format!("{name} is not a fault; give some of {known}")))
        .collect()
}

/// Runs cells and passes the figures of each to `report`, as a JSON object.
///
/// # Errors
/// If an option is not valid.
pub fn run(options: &[String], report: &mut dyn FnMut(&Value)) -> Result<(), String> {
    let plan = Plan::parse(options)?;
    plan.backends.iter().for_each(|backend| plan.run_backend(backend, report));
    let _ = std::fs::remove_dir_all(&plan.folder);
    Ok(())
}

/// Reads cells and exceptions, and writes the tables into a document. Returns a line about the campaign.
///
/// # Errors
/// If a file cannot be read or written, or a cell is over its limits.
pub fn tabulate(cells: &str, exceptions: &str, document: &str) -> Result<String, String> {
    let results = Results { cells: read_cells(Path::new(cells))?, exceptions: read(Path::new(exceptions))? };
    let path = Path::new(document);
    let text = std::fs::read_to_string(path).map_err(|error| format!("{document}: {error}"))?;
    let text = insert(&text, &results.markdown()).map_err(|error| format!("{document}: {error}"))?;
    std::fs::write(path, text).map_err(|error| format!("{document}: {error}"))?;
    let problems = results.problems();
    if problems.is_empty() {
        Ok(format!("{} cells within their limits", results.cells.len()))
    } else {
        Err(problems.join("\n"))
    }
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The cells of a file that have figures.
fn read_cells(path: &Path) -> Result<Vec<Figures>, String> {
    let all: Value = read(path)?;
    let cells = all["cells"].as_array().ok_or_else(|| format!("{}: there are no cells", path.display()))?;
    Ok(cells.iter().filter_map(|cell| serde_json::from_value(cell.clone()).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(words: &[&str]) -> Result<Plan, String> {
        Plan::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_plan_has_all_cells_or_those_that_are_named() {
        let counts = |plan: Plan| (plan.backends.len(), plan.disturbances.len());
        assert_eq!(plan(&[]).map(counts), Ok((BACKENDS.len(), Disturbance::all().len())));
        assert_eq!(plan(&["--short"]).map(counts), Ok((1, 2)));
        assert_eq!(plan(&["--backends", "odrive,haply-2diy", "--faults", "late"]).map(counts), Ok((2, 1)));
    }

    #[test]
    fn unknown_names_are_rejected_with_the_known_ones() {
        for (words, expected) in [
            (&["--faults", "stuck"][..], "stuck is not a fault; give some of frozen, jump"),
            (&["--backends", "mouse"], "mouse is not a backend; give some of native-1dof"),
            (&["--seconds", "3"], "give --hapticd, --backends or --faults"),
        ] {
            assert!(plan(words).unwrap_err().contains(expected), "{words:?}");
        }
    }
}
