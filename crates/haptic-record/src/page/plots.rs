//! Plot data, in the form expected by the page's script.

use super::Facts;
use super::gathered::{Thinned, TickColumns};
use super::summary::{PRESSED_N, Summary};
use haptic_draw::outline;
use haptic_draw::placement::Placement;
use haptic_planar::scene::{Body, Scene};
use nalgebra::Vector2;
use serde_json::{Value, json};

/// Level of events that are not warnings.
const INFORMATION: u8 = 2;
/// Maximum number of points in a scatter plot or path.
const MAX_DOTS: usize = 4000;
/// Number of histogram bars per decade. A bar is wider than the 3 % precision of stored durations.
const BARS_PER_DECADE: f64 = 16.0;
/// Period of the loop, µs.
const PERIOD_US: f64 = 1000.0;

pub(super) fn data(gathered: &TickColumns, facts: &Facts<'_>, summary: &Summary) -> Value {
    let times = gathered.times_s();
    let range = [times.first().copied().unwrap_or(0.0), times.last().copied().unwrap_or(1.0)];
    let events: Vec<Value> = facts
        .events
        .iter()
        .map(|event| json!({ "t": event.time_s, "level": event.level, "text": event.text }))
        .collect();
    let mut plots = vec![
        map(gathered, facts.scene),
        friction(gathered, summary),
        force(gathered),
        contact(gathered),
        energy(gathered),
        account(gathered),
        path(gathered),
        spectrum(summary),
    ];
    if gathered.has_clock() {
        plots.push(latency(gathered));
        plots.push(punctuality(gathered));
    }
    if facts.events.iter().any(|event| event.level > INFORMATION) {
        let time_plots = plots.iter_mut().filter(|plot| plot["kind"] == "time");
        time_plots.for_each(|plot| add_to_legend(plot, "fault or warning", "warn"));
    }
    json!({ "time": { "t": rounded(&times), "range": range }, "events": events, "plots": plots })
}

fn add_to_legend(plot: &mut Value, name: &str, colour: &str) {
    if let Some(legend) = plot["legend"].as_array_mut() {
        legend.push(json!({ "name": name, "colour": colour }));
    }
}

/// Rounds to four decimals, which is more precise than a plot and keeps the text short.
fn rounded(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| (value * 1e4).round() / 1e4 + 0.0).collect()
}

fn series(name: &str, colour: &str, thinned: &Thinned) -> Value {
    let low = rounded(&thinned.low);
    match thinned.high.is_empty() {
        true => json!({ "name": name, "colour": colour, "lo": low }),
        false => json!({ "name": name, "colour": colour, "lo": low, "hi": rounded(&thinned.high) }),
    }
}

fn column(gathered: &TickColumns, name: &str, colour: &str, values: &[f32], scale: f64) -> Value {
    series(name, colour, &gathered.thinned(values.iter().map(|value| f64::from(*value) * scale)))
}

fn time_plot(title: &str, unit: &str, caption: &str, series: Vec<Value>) -> Value {
    let legend: Vec<Value> = series.iter().map(|one| json!({ "name": one["name"], "colour": one["colour"] })).collect();
    json!({ "kind": "time", "title": title, "y": unit, "caption": caption, "series": series, "legend": legend })
}

fn force(gathered: &TickColumns) -> Value {
    let size = gathered.thinned(gathered.force_size_n().into_iter());
    let caption = "Force on the hand after the guard, world frame: pressing down on a floor gives y above zero.";
    let series = vec![
        column(gathered, "x", "a", &gathered.force_n[0], 1.0),
        column(gathered, "y", "b", &gathered.force_n[1], 1.0),
        series("size", "d", &size),
    ];
    time_plot("Force on the hand", "force / N", caption, series)
}

fn contact(gathered: &TickColumns) -> Value {
    let caption = "Sums over the contacts of the tool: impulse of a tick divided by the tick, so an impact is a spike.";
    let series = vec![
        column(gathered, "normal", "a", &gathered.normal_n, 1.0),
        column(gathered, "friction", "b", &gathered.tangent_n, 1.0),
    ];
    time_plot("Contact of the tool", "force / N", caption, series)
}

fn energy(gathered: &TickColumns) -> Value {
    let caption = "Kinetic, potential (from the start) and coupling energy together.";
    let series = vec![column(gathered, "world and coupling", "c", &gathered.energy_j, 1e3)];
    time_plot("Energy of the world", "energy / mJ", caption, series)
}

fn account(gathered: &TickColumns) -> Value {
    let caption = "What the passivity tank could pay out; it never goes below zero.";
    let series = vec![column(gathered, "on account", "e", &gathered.tank_j, 1e3)];
    time_plot("Energy on account", "energy / mJ", caption, series)
}

fn path(gathered: &TickColumns) -> Value {
    let caption = "Where the hand is and where the tool is: their distance stretches the coupling.";
    // The tool coincides with the hand most of the time; dashes keep both visible.
    let dashed = |mut series: Value| {
        series["dash"] = Value::from(true);
        series
    };
    let series = vec![
        column(gathered, "hand x", "a", &gathered.hand_m[0], 1e3),
        column(gathered, "hand y", "b", &gathered.hand_m[1], 1e3),
        dashed(column(gathered, "tool x (dashed)", "c", &gathered.tool_m[0], 1e3)),
        dashed(column(gathered, "tool y (dashed)", "d", &gathered.tool_m[1], 1e3)),
    ];
    time_plot("Hand and tool", "position / mm", caption, series)
}

fn punctuality(gathered: &TickColumns) -> Value {
    let micro = |values: &[u32]| gathered.thinned(values.iter().map(|value| f64::from(*value) / 1e3));
    let caption = format!(
        "How late the thread woke and how long a tick took, logarithmic. {} periods were skipped.",
        gathered.skipped
    );
    let series = vec![
        series("woke late by", "a", &micro(&gathered.late_ns)),
        series("tick took", "b", &micro(&gathered.compute_ns)),
    ];
    // On a linear axis, one late tick in a thousand would flatten all others.
    let mut plot = time_plot("Punctuality", "time / µs", &caption, series);
    (plot["log"], plot["limit"]) = (Value::from(true), Value::from(PERIOD_US));
    add_to_legend(&mut plot, "period (dashed)", "soft");
    plot
}

/// Returns the stride that limits the number of points to [`MAX_DOTS`].
fn every(length: usize) -> usize {
    length.div_ceil(MAX_DOTS).max(1)
}

fn map(gathered: &TickColumns, scene: &Scene) -> Value {
    let way = |column: &[Vec<f32>; 2]| -> Vec<[f64; 2]> {
        let [x, y] = column;
        let points = x.iter().zip(y).step_by(every(x.len()));
        points.map(|(x, y)| [f64::from(*x) * 1e3, f64::from(*y) * 1e3]).map(|point| point.map(hundredth)).collect()
    };
    let (hand, tool) = (way(&gathered.hand_m), way(&gathered.tool_m));
    let bodies: Vec<Value> = scene.bodies.iter().flat_map(|body| outlines(scene, body)).collect();
    let bounds = bounds(scene, &hand, &tool);
    json!({
        "kind": "map", "half": true, "title": "Scene with the paths of hand and tool", "x": "x / mm", "y": "y / mm",
        "caption": "Bodies where they start. The tool stays outside of what the hand may enter.",
        "legend": [{ "name": "hand", "colour": "a" }, { "name": "tool", "colour": "b" }],
        "bodies": bodies, "hand": hand, "tool": tool, "bounds": bounds
    })
}

fn hundredth(value: f64) -> f64 {
    (value * 100.0).round() / 100.0 + 0.0
}

fn outlines(scene: &Scene, body: &Body) -> Vec<Value> {
    let (start, pieces) = (Placement::at_start(body), &scene.pieces[body.pieces.clone()]);
    let rounded = |piece| -> Vec<[f64; 2]> {
        let to_mm = |point| start.to_world(point) * 1e3;
        let points = outline::rounded(piece, Vector2::zeros()).into_iter().map(to_mm);
        points.map(|point| [hundredth(point.x), hundredth(point.y)]).collect()
    };
    pieces.iter().map(|piece| json!({ "points": rounded(piece), "colour": body.colour, "fixed": body.fixed })).collect()
}

/// Returns the bounds of the map, mm: smallest x and y, then largest x and y. They enclose the paths and the initial
/// positions of the dynamic bodies, with a margin; fixed bodies may extend beyond them.
fn bounds(scene: &Scene, hand: &[[f64; 2]], tool: &[[f64; 2]]) -> [f64; 4] {
    let starts = scene.bodies.iter().filter(|body| !body.fixed).flat_map(|body| {
        let (centre_m, _) = body.start_pose();
        let reach_m = scene.pieces[body.pieces.clone()].iter().map(|piece| piece.reach_m).fold(0.0, f64::max);
        [-1.0, 1.0].map(|side| [(centre_m.x + side * reach_m) * 1e3, (centre_m.y + side * reach_m) * 1e3])
    });
    let all = hand.iter().chain(tool).copied().chain(starts).filter(|point| point.iter().all(|part| part.is_finite()));
    let nothing = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    let [x0, y0, x1, y1] = all.fold(nothing, |[x0, y0, x1, y1], [x, y]| [x0.min(x), y0.min(y), x1.max(x), y1.max(y)]);
    if x0 > x1 {
        return [-50.0, -50.0, 50.0, 50.0];
    }
    let room = 0.08 * (x1 - x0).max(y1 - y0).max(10.0);
    [x0 - room, y0 - room, x1 + room, y1 + room]
}

fn friction(gathered: &TickColumns, summary: &Summary) -> Value {
    let pairs = gathered.normal_n.iter().zip(&gathered.tangent_n);
    let pressed: Vec<[f64; 2]> = pairs
        .map(|(normal, tangent)| [f64::from(*normal), f64::from(*tangent)])
        .filter(|[normal, _]| *normal > PRESSED_N)
        .collect();
    let mut normals: Vec<f64> = pressed.iter().map(|[normal, _]| *normal).collect();
    normals.sort_by(f64::total_cmp);
    // Ignore the largest values: the spikes of impacts would flatten everything else.
    let top = normals.get(normals.len().saturating_sub(1) * 995 / 1000).copied().unwrap_or(1.0).max(0.1);
    let dots: Vec<Vec<f64>> = pressed.iter().step_by(every(pressed.len())).map(|point| rounded(point)).collect();
    let coefficient = summary.friction.unwrap_or(0.0);
    let side = (coefficient * top).max(0.1 * top) * 1.25;
    let edge = |sign: f64| json!({ "points": [[0.0, 0.0], [top * 1.1, sign * coefficient * top * 1.1]], "colour": "b", "dash": true });
    let caption = match summary.friction {
        Some(friction) => {
            format!("Each dot is a tick; 99 % lie between the dashed lines, |friction| = {friction:.2} · normal.")
        }
        None => "The tool was never pressed against anything.".to_owned(),
    };
    json!({
        "kind": "scatter", "half": true, "title": "Friction circle", "x": "normal force / N", "y": "friction / N",
        "caption": caption, "colour": "a", "points": dots, "lines": [edge(1.0), edge(-1.0)],
        "xRange": [0.0, top * 1.1], "yRange": [-side, side],
        "legend": [{ "name": "ticks in contact", "colour": "a", "kind": "dot" }, { "name": "friction coefficient felt", "colour": "b" }]
    })
}

fn spectrum(summary: &Summary) -> Value {
    let logarithm = |value: f64| value.max(1e-12).log10();
    let lines = summary.spectrum.iter().filter(|line| line.frequency_hz >= 0.5);
    let points: Vec<Vec<f64>> =
        lines.map(|line| rounded(&[line.frequency_hz.log10(), logarithm(line.amplitude)])).collect();
    let points = if points.is_empty() { vec![vec![-0.3, -3.0], vec![2.7, -3.0]] } else { points };
    let peaks: Vec<Value> = summary
        .peaks
        .iter()
        .map(|peak| {
            json!([peak.frequency_hz.log10(), logarithm(peak.amplitude), format!("{:.1} Hz", peak.frequency_hz)])
        })
        .collect();
    json!({
        "kind": "spectrum", "half": true, "title": "Spectrum of the force", "x": "frequency / Hz", "y": "amplitude / N",
        "caption": "Welch's method on the size of the force, Hann windows of 4.1 s, half overlapping.",
        "colour": "d", "points": points, "peaks": peaks,
        "legend": [{ "name": "amplitude", "colour": "d" }, { "name": "dominant", "colour": "b", "kind": "dot" }]
    })
}

fn latency(gathered: &TickColumns) -> Value {
    let caption = "Both axes logarithmic. A tick must be done within 1000 µs.";
    json!({
        "kind": "bars", "half": true, "title": "Latency", "x": "time / µs", "y": "ticks", "caption": caption,
        "series": [{ "bars": bars(&gathered.late_ns), "colour": "a" }, { "bars": bars(&gathered.compute_ns), "colour": "b" }],
        "legend": [{ "name": "woke late by", "colour": "a", "kind": "area" }, { "name": "tick took", "colour": "b", "kind": "area" }]
    })
}

/// Returns, for each bar, the base-10 logarithms of its edges in µs and its count.
fn bars(durations_ns: &[u32]) -> Vec<Value> {
    let mut counts = std::collections::BTreeMap::<i64, u64>::new();
    for duration_ns in durations_ns.iter().filter(|duration| **duration > 0) {
        let bar = ((f64::from(*duration_ns) / 1e3).log10() * BARS_PER_DECADE).floor() as i64;
        *counts.entry(bar).or_default() += 1;
    }
    let edge = |bar: i64| bar as f64 / BARS_PER_DECADE;
    counts.into_iter().map(|(bar, count)| json!([edge(bar), edge(bar + 1), count])).collect()
}
