//! The terminal picture, and the captions of the default profile.

use haptic_config::scene;
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use haptic_device::MonotonicNs;
use haptic_draw::view::SceneView;
use haptic_loop::engagement::Phase;
use haptic_loop::snapshot::Snapshot;
use haptic_loop::tick::HapticLoop;
use haptic_realtime::runner::LoopTiming;
use haptic_terminal::frame::Frame;
use haptic_terminal::frame_builder::FrameBuilder;
use haptic_terminal::render::render;
use hapticd::cli::InputArguments;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::style::Color;

/// One round of the simulated hand, ticks.
const ROUND_TICKS: u64 = 12_000;
/// Number of ticks between two pictures; about 30 per second.
const PICTURE_TICKS: u64 = 33;

/// A scene with a probe on a floor, and a ball.
const SMALL_SCENE: &str = r#"
[[body]]
name = "floor"
fixed = true
position_m = [0.0, -0.01]
shape = { box_m = [0.1, 0.02] }

[[body]]
name = "ball"
position_m = [-0.03, 0.008]
shape = { disc_radius_m = 0.008 }

[[body]]
name = "probe"
position_m = [0.02, 0.02]
shape = { box_m = [0.01, 0.02] }

[tool]
body = "probe"
"#;

fn small_view() -> SceneView {
    SceneView::new(&scene::load(&Source::in_memory("small.toml", SMALL_SCENE)).unwrap())
}

fn small_frame(view: &SceneView) -> Frame {
    let nothing =
        Snapshot { report: haptic_loop::report::TickReport::default(), poses: Vec::new(), contacts: Vec::new() };
    let mut frame = FrameBuilder::new(view.clone()).observe(&nothing, &LoopTiming::default(), None);
    frame.hand_m = Some([0.02, 0.02].into());
    frame.force_n = [0.0, 1.0].into();
    frame.caption = "pressing on floor: 1.00 N".to_owned();
    frame
}

fn text(buffer: &Buffer) -> Vec<String> {
    let line = |y: u16| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..buffer.area.height).map(|y| line(y).trim_end().to_owned()).collect()
}

#[test]
fn a_small_scene_matches_its_stored_picture() {
    let view = small_view();
    let picture = text(&render(&view, &small_frame(&view), Rect::new(0, 0, 40, 12)));
    let golden = include_str!("terminal/small.txt");
    assert_eq!(picture.join("\n"), golden.trim_end_matches('\n'), "the picture now:\n{}", picture.join("\n"));
}

#[test]
fn the_picture_fills_a_terminal_of_any_size() {
    let view = small_view();
    let address = Some("http://127.0.0.1:8520/?token=0123456789abcdef0123456789abcdef".to_owned());
    let frame = Frame { notice: Some("a log line".to_owned()), address, ..small_frame(&view) };
    for (width, height) in [(80, 24), (40, 14), (200, 60)] {
        let lines = text(&render(&view, &frame, Rect::new(0, 0, width, height)));
        let all = lines.join("\n");
        for needed in ["hapticd", "pressing on floor", "force", "1.00 N", "overruns", "a log line"] {
            assert!(all.contains(needed), "{width}×{height} lacks {needed}:\n{all}");
        }
        let joined: String = lines.iter().map(|line| line.trim()).collect();
        assert!(joined.contains("http://127.0.0.1:8520/?token=0123456789abcdef0123456789abcdef"), "{all}");
        let braille = all.chars().filter(|symbol| ('\u{2801}'..='\u{28ff}').contains(symbol)).count();
        assert!(braille > usize::from(width), "{width}×{height}:\n{all}");
    }
    for (width, height) in [(0, 0), (1, 1), (3, 200), (200, 3), (39, 5), (109, 24), (110, 24)] {
        let picture = render(&view, &frame, Rect::new(0, 0, width, height));
        assert_eq!(picture.area, Rect::new(0, 0, width, height));
    }
}

#[test]
fn a_stop_is_red_and_the_title_names_its_keys() {
    let view = small_view();
    let running = small_frame(&view);
    let stopped = Frame { phase: Phase::Stopped.name(), caption: "emergency stop".to_owned(), ..running.clone() };
    for (width, keys) in [(40, ["s stops", ""]), (80, ["s emergency stop  q quits", "r releases  q quits"])] {
        let pictures = [&running, &stopped].map(|frame| render(&view, frame, Rect::new(0, 0, width, 24)));
        for (picture, keys) in pictures.iter().zip(keys) {
            assert!(text(picture)[0].ends_with(keys), "{:?}", text(picture)[0]);
        }
        let red = Color::Rgb(0xff, 0x4d, 0x4d);
        let is_red = |picture: &Buffer| picture.content.iter().any(|cell| cell.symbol() == "p" && cell.fg == red);
        assert_eq!(pictures.each_ref().map(is_red), [false, true], "{width}");
    }
}

#[test]
fn a_resized_terminal_shows_what_a_fresh_one_would() {
    let (view, sizes) = (small_view(), [Size::new(80, 24), Size::new(40, 12), Size::new(200, 60)]);
    let frame = small_frame(&view);
    let mut terminal = Terminal::new(TestBackend::new(10, 10)).unwrap();
    for size in sizes {
        terminal.backend_mut().resize(size.width, size.height);
        terminal.draw(|target| *target.buffer_mut() = render(&view, &frame, target.area())).unwrap();
        let fresh = render(&view, &frame, Rect::new(0, 0, size.width, size.height));
        assert_eq!(text(terminal.backend().buffer()), text(&fresh));
    }
}

/// A run of the default profile, with its captions.
struct Tour {
    rendering: HapticLoop,
    snapshot: Snapshot,
    builder: FrameBuilder,
    force_max_n: f64,
    faults: u64,
}

impl Tour {
    fn begin() -> Self {
        let setup = Setup::open(&InputArguments::default(), None).unwrap();
        let builder = FrameBuilder::new(SceneView::new(&setup.scene));
        let device = setup.simulated_device().unwrap();
        let rendering = setup.into_loop(device).unwrap();
        let snapshot = Snapshot::with_capacity_for(rendering.world());
        Self { rendering, snapshot, builder, force_max_n: 0.0, faults: 0 }
    }

    /// Runs the loop and returns the captions in order.
    fn run(&mut self, ticks: u64) -> Vec<String> {
        let mut captions: Vec<String> = Vec::new();
        for _ in 0..ticks {
            let tick = self.snapshot.report.tick + 1;
            let report = *self.rendering.tick(MonotonicNs(tick * 1_000_000), 0);
            self.force_max_n = self.force_max_n.max(report.force_n.norm());
            self.faults += u64::from(report.fault.is_some());
            self.snapshot.fill(&report, self.rendering.world());
            if tick.is_multiple_of(PICTURE_TICKS) {
                let frame = self.builder.observe(&self.snapshot, &LoopTiming::default(), None);
                captions.push(frame.caption);
                captions.dedup();
            }
        }
        captions
    }

    fn index(&self, name: &str) -> usize {
        self.rendering.world().scene.bodies.iter().position(|body| body.name == name).unwrap()
    }
}

#[test]
fn the_captions_of_the_first_round_follow_taps_slides_pull_off_fall_and_slot() {
    let mut tour = Tour::begin();
    let captions = tour.run(ROUND_TICKS);
    let mut remaining = captions.iter();
    for expected in [
        "free",
        "tapping wood",
        "sliding on ice: Ft/Fn 0.10, μ 0.10",
        "sliding on wood: Ft/Fn 0.40, μ 0.40",
        "sliding on rubber: Ft/Fn 0.80, μ 0.80",
        "pulled off",
        "pushing",
        "block with a slot",
    ] {
        assert!(remaining.any(|caption| caption.contains(expected)), "no '{expected}' in its turn: {captions:#?}");
    }
    let upper_box = &tour.rendering.world().state.bodies[tour.index("upper box")];
    assert!(upper_box.centre_m.y < 0.03, "the stack is still upright: {upper_box:?}");
}

#[test]
fn many_rounds_stay_within_4_n_and_keep_every_body() {
    let mut tour = Tour::begin();
    for round in 1..=10 {
        let captions = tour.run(ROUND_TICKS);
        assert!(captions.iter().any(|caption| caption.contains("sliding on rubber: Ft/Fn 0.80")), "round {round}");
    }
    assert!(tour.force_max_n < 4.0, "{}", tour.force_max_n);
    assert_eq!(tour.faults, 0);
    assert!(tour.snapshot.report.felt.energy.gain_max_j < 1e-6);
    for name in ["lower box", "middle box", "upper box", "ball"] {
        let centre_m = tour.rendering.world().state.bodies[tour.index(name)].centre_m;
        assert!((-0.1..0.15).contains(&centre_m.x) && (0.0..0.06).contains(&centre_m.y), "{name}: {centre_m}");
    }
}
