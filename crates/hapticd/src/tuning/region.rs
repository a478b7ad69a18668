//! Picture of the region of stable gains of a device, with its boundary curves and marked gains.

use haptic_config::proposals::Proposals;
use haptic_coupling::model::{HandImpedance, WorstAxisModel};
use haptic_coupling::sampled::max_stable_stiffness_n_per_m;
use haptic_draw::colour::Rgb;
use haptic_draw::drawing::{Anchor, Area, Drawing, Line, Mark, Point, Text};
use haptic_draw::log_plot::{FONT_SIZE, LogPlot, Range, write};
use haptic_tuning::boundary::{Limits, max_passive_stiffness_n_per_m};
use haptic_tuning::spring_test::MeasuredLimit;
use nalgebra::Vector2;

const BACKGROUND: Rgb = Rgb(0xff, 0xff, 0xff);
const INK: Rgb = Rgb(0x1b, 0x26, 0x3b);
const PASSIVE: Rgb = Rgb(0x1d, 0x7a, 0x46);
const PASSIVE_FILL: Rgb = Rgb(0xc9, 0xe8, 0xd3);
const SPECTRAL: Rgb = Rgb(0x1f, 0x5f, 0xbf);
const SIMULATED: Rgb = Rgb(0xd9, 0x6a, 0x0b);
const STABLE_FILL: Rgb = Rgb(0xe6, 0xee, 0xfa);
const MEASURED: Rgb = Rgb(0xb0, 0x1e, 0x4f);

/// Width and height of the page, points.
const PAGE: [f64; 2] = [900.0, 680.0];
/// Upper left and lower right corners of the plot frame, points.
const FRAME: [[f64; 2]; 2] = [[84.0, 96.0], [870.0, 520.0]];
/// Number of points on a smooth curve.
const SMOOTH: usize = 160;
/// Maximum ratio of the stiffest value to the lower end of the stiffness axis, before rounding to powers of ten. Softer
/// values are drawn at the lower end.
const MAX_DECADES: f64 = 1e4;

/// Named gains, drawn as a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Marked {
    /// Name in the legend.
    pub name: String,
    /// Stiffness at the device, N/m.
    pub stiffness_n_per_m: f64,
    /// Damping at the device, N·s/m.
    pub damping_n_s_per_m: f64,
}

/// The region of stable gains of a device, with gains to mark in it.
#[derive(Clone, Debug)]
pub struct Region {
    /// Name of the device.
    pub name: String,
    /// Worst-axis model of the device.
    pub device: WorstAxisModel,
    /// Hand for which the curves of stable gains are computed.
    pub hand: HandImpedance,
    /// Stiffness limits for each damping value.
    pub limits: Vec<Limits>,
    /// Stiffness limits measured on the device itself; empty if there was no measurement.
    pub measured: Vec<MeasuredLimit>,
    /// Gains of the profile, at the device.
    pub profile: Marked,
    /// Gains proposed for the device.
    pub proposals: Proposals,
}

type Curve = Vec<(f64, f64)>;

impl Region {
    /// Draws the curves, the marked gains and a legend on one page.
    pub fn draw(&self) -> Drawing {
        let title = format!("Region of stable gains: {}", self.name);
        let mut drawing = Drawing { size: PAGE.into(), title: title.clone(), marks: Vec::new() };
        let [low, high] = [Point::zeros(), Point::from(PAGE)];
        let page = vec![vec![low, Point::new(high.x, 0.0), high, Point::new(0.0, high.y)]];
        drawing.area(Area { outlines: page, grown_by: 0.0, fill: BACKGROUND, edge: BACKGROUND, edge_width: 0.0 });
        let at = Point::new(FRAME[0][0] - 46.0, 32.0);
        drawing.text(Text { at, anchor: Anchor::Start, text: title, size: 18.0, colour: INK });
        write(&mut drawing, at + Vector2::new(0.0, 22.0), Anchor::Start, &self.subtitle());
        self.draw_plot(&mut drawing);
        self.draw_legend(&mut drawing);
        drawing
    }

    fn subtitle(&self) -> String {
        let WorstAxisModel { mass_kg, damping_n_s_per_m, coulomb_n, encoder_step_m, delay_s, period_s, .. } =
            self.device;
        let (step_um, delay_ms, period_ms) = (encoder_step_m * 1e6, delay_s * 1e3, period_s * 1e3);
        let hand = match self.hand {
            hand if hand == HandImpedance::default() => "free handle".to_owned(),
            HandImpedance { mass_kg, damping_n_s_per_m, stiffness_n_per_m } => {
                format!("held by {mass_kg:.2} kg, {damping_n_s_per_m:.1} N·s/m, {stiffness_n_per_m:.0} N/m")
            }
        };
        format!(
            "{mass_kg:.3} kg, {damping_n_s_per_m:.2} N·s/m, dry friction {coulomb_n:.3} N, encoder {step_um:.1} µm, \
             delay {delay_ms:.2} ms, every {period_ms:.0} ms; {hand}"
        )
    }

    fn draw_plot(&self, drawing: &mut Drawing) {
        let (passive, spectral, simulated) = (self.passive(), self.spectral(), self.simulated());
        let plot = self.plot(&[&passive, &spectral, &simulated]);
        plot.fill_below(drawing, &simulated, STABLE_FILL);
        plot.fill_below(drawing, &passive, PASSIVE_FILL);
        plot.draw_grid(drawing);
        plot.curve(drawing, &passive, PASSIVE, 2.0, None);
        plot.curve(drawing, &spectral, SPECTRAL, 2.2, Some(7.0));
        plot.curve(drawing, &simulated, SIMULATED, 1.6, None);
        for &(damping, stiffness) in simulated.iter().filter(|(_, stiffness)| *stiffness > plot.y.low) {
            drawing.disc(plot.to_page(damping, stiffness), 2.6, SIMULATED, SIMULATED);
        }
        for found in &self.measured {
            drawing.disc(plot.to_page(found.damping_n_s_per_m, found.stiffest_n_per_m), 5.0, BACKGROUND, MEASURED);
        }
        for (gains, fill) in self.marks() {
            drawing.disc(plot.to_page(gains.damping_n_s_per_m, gains.stiffness_n_per_m), 5.5, fill, INK);
        }
        let [low, high] = plot.corners;
        write(drawing, low + Vector2::new(14.0, 24.0), Anchor::Start, "unstable");
        write(drawing, Point::new(low.x + 14.0, high.y - 14.0), Anchor::Start, "passive: any hand, any world");
        write(drawing, Point::new(high.x - 14.0, high.y - 14.0), Anchor::End, "stable with this hand");
        plot.draw_axes(drawing, "damping of the coupling, N·s/m", "stiffness of the coupling, N/m");
    }

    /// Returns the gains to mark, with their colours. The profile's gains come last, so that they are never hidden.
    fn marks(&self) -> [(Marked, Rgb); 3] {
        let proposal = |name: &str, stiffness_n_per_m: f64, damping_n_s_per_m: f64| Marked {
            name: format!("proposed, {name}"),
            stiffness_n_per_m,
            damping_n_s_per_m,
        };
        let Proposals { passive, crisp } = self.proposals;
        [
            (proposal("crisp", crisp.stiffness_n_per_m, crisp.damping_n_s_per_m), Rgb(0xf6, 0xc3, 0x44)),
            (proposal("passive", passive.stiffness_n_per_m, passive.damping_n_s_per_m), Rgb(0x6f, 0xcf, 0x97)),
            (self.profile.clone(), INK),
        ]
    }

    fn plot(&self, curves: &[&Curve]) -> LogPlot {
        let dampings = self.limits.iter().map(|limits| limits.damping_n_s_per_m);
        let marks = self.marks().map(|(gains, _)| gains);
        let marked_x = marks.iter().map(|gains| gains.damping_n_s_per_m);
        let marked_y = marks.iter().map(|gains| gains.stiffness_n_per_m);
        let all_y = curves.iter().flat_map(|curve| curve.iter().map(|point| point.1)).chain(marked_y.clone());
        let x = span(dampings.chain(marked_x));
        let tallest = all_y.fold(1.0, f64::max);
        let softest =
            marked_y.chain(self.passive().first().map(|point| point.1)).filter(|y| *y > 0.0).fold(tallest, f64::min);
        let y = around([1.5 * tallest, (0.3 * softest).max(tallest / MAX_DECADES)].into_iter());
        LogPlot { corners: FRAME.map(Point::from), x, y }
    }

    fn smooth_dampings(&self) -> Vec<f64> {
        let ([first, ..], [.., last]) = (&self.limits[..], &self.limits[..]) else { return Vec::new() };
        let (low, high) = (first.damping_n_s_per_m, last.damping_n_s_per_m);
        let fraction = |index: usize| index as f64 / (SMOOTH - 1) as f64;
        (0..SMOOTH).map(|index| low * libm::pow(high / low, fraction(index))).collect()
    }

    fn passive(&self) -> Curve {
        // The curve falls to zero at the device's own damping, which is approached in ever smaller steps.
        let own = self.device.damping_n_s_per_m;
        let near_end = (0..40).map(|index| own * (1.0 - libm::pow(0.7, f64::from(index))));
        let mut dampings: Vec<f64> =
            self.smooth_dampings().into_iter().filter(|damping| *damping < own).chain(near_end).collect();
        dampings.retain(|damping| self.limits.first().is_some_and(|first| *damping >= first.damping_n_s_per_m));
        dampings.sort_by(f64::total_cmp);
        dampings.push(own);
        dampings.into_iter().map(|damping| (damping, max_passive_stiffness_n_per_m(&self.device, damping))).collect()
    }

    fn spectral(&self) -> Curve {
        let stiffest = |damping: f64| (damping, max_stable_stiffness_n_per_m(&self.device, &self.hand, damping));
        self.smooth_dampings().into_iter().map(stiffest).collect()
    }

    fn simulated(&self) -> Curve {
        self.limits.iter().map(|limits| (limits.damping_n_s_per_m, limits.simulated_n_per_m)).collect()
    }

    fn draw_legend(&self, drawing: &mut Drawing) {
        let row =
            |index: usize, column: f64| Point::new(FRAME[0][0] + column, FRAME[1][1] + 66.0 + 22.0 * index as f64);
        let line = |drawing: &mut Drawing, at: Point, colour: Rgb, dash: Option<f64>, text: &str| {
            let ends = vec![at + Vector2::new(0.0, -4.0), at + Vector2::new(34.0, -4.0)];
            let mark = Line { points: ends, colour, width: 2.2, dash, opacity: 1.0 };
            drawing.marks.push(Mark::Line(mark));
            write(drawing, at + Vector2::new(44.0, 0.0), Anchor::Start, text);
        };
        line(drawing, row(0, 0.0), PASSIVE, None, "passive with any hand: (b − B)/(T/2 + delay)");
        line(drawing, row(1, 0.0), SPECTRAL, Some(7.0), "stable with this hand: eigenvalues of the linear loop");
        line(drawing, row(2, 0.0), SIMULATED, None, "stable with this hand: the loop itself, tapped");
        drawing.disc(row(2, 0.0) + Vector2::new(17.0, -4.0), 2.6, SIMULATED, SIMULATED);
        for (index, (gains, fill)) in self.marks().into_iter().rev().enumerate() {
            let at = row(index, 400.0);
            drawing.disc(at + Vector2::new(0.0, -FONT_SIZE * 0.35), 5.5, fill, INK);
            let (stiffness, damping) = (gains.stiffness_n_per_m, gains.damping_n_s_per_m);
            let text = format!("{}: {stiffness} N/m, {damping} N·s/m", gains.name);
            write(drawing, at + Vector2::new(14.0, 0.0), Anchor::Start, &text);
        }
        if !self.measured.is_empty() {
            let at = row(3, 0.0);
            drawing.disc(at + Vector2::new(17.0, -4.0), 5.0, BACKGROUND, MEASURED);
            write(drawing, at + Vector2::new(44.0, 0.0), Anchor::Start, "measured on the device with a free handle");
        }
    }
}

/// Returns the range between two powers of ten that contains all positive values.
fn around(values: impl Iterator<Item = f64>) -> Range {
    let Range { low, high } = span(values);
    let power = |value: f64, to: fn(f64) -> f64| libm::pow(10.0, to(libm::log10(value)));
    let (low, high) = (power(low, libm::floor), power(high, libm::ceil));
    Range { low, high: if high > low { high } else { 10.0 * low } }
}

/// Returns the range from the smallest to the largest positive value; 0.1 to 10 if there are no two different values.
fn span(values: impl Iterator<Item = f64>) -> Range {
    let positive = values.filter(|value| *value > 0.0 && value.is_finite());
    let (low, high) =
        positive.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), value| (low.min(value), high.max(value)));
    if low < high { Range { low, high } } else { Range { low: 0.1, high: 10.0 } }
}
