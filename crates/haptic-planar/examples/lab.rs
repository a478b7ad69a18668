//! Experiments.
#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use nalgebra::vector;

fn slide(k: f64, mu: f64, inertia: Option<f64>) {
    let mut tool = with(body("tool", box_shape(0.04, 0.02), 0.0, 0.01), 0.1, mu, 0.0);
    tool.inertia_kg_m2 = inertia;
    let floor = with(fixed("floor", box_shape(1.0, 0.1), 0.0, -0.05), 1.0, mu, 0.0);
    let mut lab = Lab::new(&scene(0.0, vec![floor, tool], Some("tool"))).gains(k, 5.0);
    let mut ratios = vec![];
    for i in 0..500 {
        let y = 0.01 - 0.005 * (i as f64 / 500.0);
        lab.hand(vector![0.0, y]);
    }
    for i in 0..1000 {
        let f = lab.hand(vector![0.05 * i as f64 * 1e-3, 0.005]);
        if i > 500 {
            ratios.push(f.tool_tangent_n.abs() / f.tool_normal_n);
        }
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let rip = (ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / ratios.len() as f64).sqrt();
    // pull off
    let mut most = 0.0f64;
    for i in 0..400 {
        let f = lab.hand(vector![0.05, 0.005 + 0.1 * (i as f64) * 1e-3]);
        most = most.max(-f.force_on_hand_n.y);
    }
    println!(
        "slide K={k} mu={mu} I={inertia:?}: ratio/mu {:.5} ripple {:.1e} pen {:.1e} pull {:.4} gain {:.1e}",
        mean / mu,
        rip / mean,
        lab.penetration_m,
        most,
        lab.state.ledger.gain_max_j
    );
}
fn chain(n: usize, gap: f64) {
    let bodies = (0..n)
        .map(|i| {
            let mut b = with(body(&format!("b{i}"), disc(0.01), i as f64 * (0.02 + gap), 0.0), 0.1, 0.0, 1.0);
            if i == 0 {
                b.position_m.x -= 0.0105;
                b.velocity_m_per_s.x = 1.0;
            }
            b
        })
        .collect();
    let mut lab = Lab::new(&scene(0.0, bodies, None));
    for _ in 0..100 {
        lab.free();
    }
    println!("chain {n} {gap}: {:?}", lab.state.motions.iter().map(|m| m.velocity_m_per_s.x).collect::<Vec<_>>());
}
fn square() {
    let w = |n: &str, w, h, x, y| with(fixed(n, box_shape(w, h), x, y), 1.0, 0.0, 1.0);
    let mut sq = with(body("sq", box_shape(0.02, 0.02), 0.003, 0.001), 0.1, 0.0, 1.0);
    sq.velocity_m_per_s = vector![0.3, 0.17];
    sq.spin_rad_per_s = 5.0;
    let mut lab = Lab::new(&scene(
        0.0,
        vec![
            w("l", 0.02, 0.2, -0.06, 0.0),
            w("r", 0.02, 0.2, 0.06, 0.0),
            w("t", 0.2, 0.02, 0.0, 0.06),
            w("b", 0.2, 0.02, 0.0, -0.06),
            sq,
        ],
        None,
    ));
    lab.free();
    let e0 = lab.energy_j();
    let mut worst = 0.0f64;
    for _ in 0..60000 {
        lab.free();
        worst = worst.max((lab.energy_j() - e0).abs());
    }
    println!(
        "square: drift {:.1e} rel {:.1e} gain {:.1e} pen {:.1e} pos {:?}",
        worst,
        worst / e0,
        lab.state.ledger.gain_max_j,
        lab.penetration_m,
        lab.state.motions[4].centre_m
    );
}
fn bounce(e: f64, shape: haptic_planar::description::ShapeDescription) {
    let ball = with(body("ball", shape, 0.0, 0.11), 0.1, 0.3, e);
    let floor = with(fixed("floor", box_shape(1.0, 0.1), 0.0, -0.05), 1.0, 0.3, 0.0);
    let mut lab = Lab::new(&scene(9.81, vec![floor, ball], None));
    let mut apex = vec![];
    let mut last = -1.0;
    for _ in 0..3000 {
        lab.free();
        let v = lab.state.motions[1].velocity_m_per_s.y;
        if last > 0.0 && v <= 0.0 {
            apex.push(lab.state.motions[1].centre_m.y - 0.01);
        }
        last = v;
    }
    println!(
        "bounce e={e}: apexes {:?} gain {:.1e} end v {:?} spin {}",
        &apex[..apex.len().min(5)],
        lab.state.ledger.gain_max_j,
        lab.state.motions[1].velocity_m_per_s,
        lab.state.motions[1].spin_rad_per_s
    );
}
fn tap() {
    let tool = with(body("tool", box_shape(0.02, 0.02), 0.0, 0.06), 0.1, 0.4, 0.3);
    let floor = with(fixed("floor", box_shape(1.0, 0.1), 0.0, -0.05), 1.0, 0.4, 0.3);
    let mut lab = Lab::new(&scene(0.0, vec![floor, tool], Some("tool"))).gains(800.0, 4.0);
    for i in 0..300 {
        let y = (0.06 - 0.5 * i as f64 * 1e-3).max(0.005);
        lab.hand(vector![0.0, y]);
        let low = lab.state.motions[1].centre_m.y - 0.01;
        lab.penetration_m = lab.penetration_m.max(-low);
    }
    println!("tap: pen {:.2e} gain {:.1e}", lab.penetration_m, lab.state.ledger.gain_max_j);
}
fn ramp(deg: f64, mu: f64) {
    let a = deg.to_radians();
    let mut floor = with(fixed("floor", box_shape(2.0, 0.1), 0.0, 0.0), 1.0, mu, 0.0);
    floor.angle_rad = a;
    floor.position_m = vector![0.05 * a.sin(), -0.05 * a.cos()];
    let mut b = with(body("b", box_shape(0.04, 0.02), 0.0, 0.0), 0.1, mu, 0.0);
    b.angle_rad = a;
    b.position_m = vector![-0.01 * a.sin(), 0.01 * a.cos()];
    let mut lab = Lab::new(&scene(9.81, vec![floor, b], None));
    let p0 = lab.state.motions[1].centre_m;
    let n = if deg.to_radians().tan() < mu { 5000 } else { 1000 };
    for _ in 0..n {
        lab.free();
    }
    let m = &lab.state.motions[1];
    let v = m.velocity_m_per_s.norm();
    let want = 9.81 * (a.sin() - mu * a.cos()) * n as f64 * 1e-3;
    println!(
        "ramp {deg} mu {mu}: creep {:.1e} v {:.6} want {:.6} err {:.1e} pen {:.1e}",
        (m.centre_m - p0).norm(),
        v,
        want,
        v / want - 1.0,
        lab.penetration_m
    );
}
fn tiles() {
    let mut bodies: Vec<_> = (0..20)
        .map(|i| with(fixed(&format!("t{i}"), box_shape(0.02, 0.02), i as f64 * 0.02, -0.01), 1.0, 0.4, 0.2))
        .collect();
    bodies.push(with(body("tool", box_shape(0.03, 0.02), 0.02, 0.01), 0.1, 0.4, 0.2));
    let mut lab = Lab::new(&scene(0.0, bodies, Some("tool"))).gains(800.0, 4.0);
    for i in 0..500 {
        lab.hand(vector![0.02, 0.01 - 0.005 * (i as f64 / 500.0)]);
    }
    let (mut lo, mut hi) = (f64::MAX, f64::MIN);
    for i in 0..3000 {
        let f = lab.hand(vector![0.02 + 0.1 * i as f64 * 1e-3, 0.005]);
        if i > 500 {
            let r = f.tool_tangent_n / f.tool_normal_n / 0.4;
            lo = lo.min(r);
            hi = hi.max(r);
        }
    }
    println!("tiles: {lo:.5}..{hi:.5} pen {:.1e} gain {:.1e}", lab.penetration_m, lab.state.ledger.gain_max_j);
}
fn stack(n: usize, top: f64) {
    let mut bodies = vec![with(fixed("floor", box_shape(1.0, 0.1), 0.0, -0.05), 1.0, 0.4, 0.0)];
    for i in 0..n {
        bodies.push(with(
            body(&format!("b{i}"), box_shape(0.02, 0.02), 0.0, 0.01 + 0.02 * i as f64),
            if i == n - 1 { 0.1 * top } else { 0.1 },
            0.4,
            0.0,
        ));
    }
    let mut lab = Lab::new(&scene(9.81, bodies, None));
    for _ in 0..5000 {
        lab.free();
    }
    println!(
        "stack {n} top x{top}: pen {:.1e} gain {:.1e} top at {:?} v {:.1e}",
        lab.penetration_m,
        lab.state.ledger.gain_max_j,
        lab.state.motions[n].centre_m,
        lab.state.motions[n].velocity_m_per_s.norm()
    );
}
fn push_stack(n: usize, m: f64) {
    let mut bodies = vec![with(fixed("floor", box_shape(1.0, 0.1), 0.0, -0.05), 1.0, 10.0, 0.0)];
    for i in 0..n {
        bodies.push(with(
            body(&format!("b{i}"), box_shape(0.04, 0.02), 0.0, 0.01 + 0.02 * i as f64),
            m,
            if i == n - 1 { 0.3 } else { 10.0 },
            0.0,
        ));
    }
    let y = 0.02 * n as f64 + 0.01;
    bodies.push(with(body("tool", box_shape(0.02, 0.02), 0.0, y), 0.02, 0.3, 0.0));
    let mut d = scene(9.81, bodies, Some("tool"));
    for i in 0..=n {
        d.bodies[i].friction = 0.3;
    }
    let mut lab = Lab::new(&d);
    let mut rs = vec![];
    for i in 0..500 {
        lab.hand(vector![0.0, y - 0.005 * i as f64 / 500.0]);
    }
    let mut fn_ = 0.0;
    for i in 0..800 {
        let f = lab.hand(vector![-0.01 + 0.0 * 0.02 * i as f64 * 1e-3, y - 0.005]);
        let _ = f;
    }
    for i in 0..800 {
        let f = lab.hand(vector![0.02 * i as f64 * 1e-3, y - 0.005]);
        if i > 500 {
            rs.push(f.force_on_hand_n.x.abs() / f.force_on_hand_n.y);
            fn_ = f.tool_normal_n;
        }
    }
    println!(
        "pushed stack {n} m={m}: ratio {:.4} fn {fn_:.3} pen {:.1e} gain {:.1e}",
        rs.iter().sum::<f64>() / rs.len() as f64,
        lab.penetration_m,
        lab.state.ledger.gain_max_j
    );
}

fn load(path: &str) -> (haptic_planar::description::SceneDescription, Vec<(f64, f64, f64)>) {
    let text = std::fs::read_to_string(format!("/work/shared/scenes/{path}.toml")).unwrap();
    let hand = std::fs::read_to_string(format!("/work/shared/scenes/{path}.hand.csv")).unwrap();
    let mut d = scene(0.0, vec![], None);
    let num = |s: &str| -> Vec<f64> {
        s.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == 'e'))
            .filter_map(|x| x.parse().ok())
            .collect()
    };
    for line in text.lines() {
        let (k, v) = line.split_once('=').map(|(a, b)| (a.trim(), b.trim())).unwrap_or((line, ""));
        match k {
            "gravity_m_per_s2" => {
                let n = num(v);
                d.gravity_m_per_s2 = vector![n[0], n[1]];
            }
            "[[body]]" => d.bodies.push(body("", disc(1.0), 0.0, 0.0)),
            "name" => d.bodies.last_mut().unwrap().name = v.trim_matches('"').into(),
            "fixed" => d.bodies.last_mut().unwrap().fixed = true,
            "position_m" => {
                let n = num(v);
                d.bodies.last_mut().unwrap().position_m = vector![n[0], n[1]];
            }
            "angle_rad" => d.bodies.last_mut().unwrap().angle_rad = num(v)[0],
            "mass_kg" => d.bodies.last_mut().unwrap().mass_kg = Some(num(v)[0]),
            "friction" => d.bodies.last_mut().unwrap().friction = num(v)[0],
            "restitution" => d.bodies.last_mut().unwrap().restitution = num(v)[0],
            "velocity_m_per_s" => {
                let n = num(v);
                d.bodies.last_mut().unwrap().velocity_m_per_s = vector![n[0], n[1]];
            }
            "shape" => {
                let b = d.bodies.last_mut().unwrap();
                let (_, nums) = v.split_once('=').unwrap();
                let n = num(nums);
                b.shape = if v.contains("disc") {
                    disc(n[0])
                } else {
                    haptic_planar::description::ShapeDescription::Polygon {
                        corners_m: n.chunks(2).map(|c| vector![c[0], c[1]]).collect(),
                    }
                };
            }
            "body" => {
                d.tool = Some(haptic_planar::description::ToolDescription {
                    body: v.trim_matches('"').into(),
                    handle_m: vector![0.0, 0.0],
                })
            }
            _ => {}
        }
    }
    (
        d,
        hand.lines()
            .skip(1)
            .map(|l| {
                let n = num(l);
                (n[0], n[1], n[2])
            })
            .collect(),
    )
}
fn run(name: &str, seconds: usize) {
    let (d, rows) = load(name);
    let mut lab = Lab::new(&d).gains(800.0, 4.0);
    lab.grip.angular_stiffness_n_m_per_rad = 0.5;
    lab.grip.angular_damping_n_m_s_per_rad = 0.002;
    lab.grip.max_force_n = std::env::var("FMAX").map_or(f64::INFINITY, |x| x.parse().unwrap());
    let mut pens = vec![];
    let mut work = 0.0f64;
    let mut last = (0.0, nalgebra::Vector2::zeros());
    let mut maxman = 0;
    let _ = &mut maxman;
    let t0 = std::time::Instant::now();
    for k in 1..=seconds * 1000 {
        let t = (k as f64 * 1e-3) % 20.0;
        let i = ((t / 0.005) as usize).min(rows.len() - 2);
        let (a, b) = (rows[i], rows[i + 1]);
        let s = ((t - a.0) / (b.0 - a.0)).clamp(0.0, 1.0);
        let at = vector![a.1 + (b.1 - a.1) * s, a.2 + (b.2 - a.2) * s];
        let f = lab.hand(at);
        work += (-f.force_on_hand_n.dot(&(at - if k == 1 { at } else { last.1 }))).max(0.0);
        last = (0.0, at);
        pens.push(f.penetration_m);
    }
    let el = t0.elapsed().as_secs_f64() / (seconds as f64) * 1e3;
    let mut worst = pens.clone();
    worst.sort_by(f64::total_cmp);
    let q = |p: f64| worst[((worst.len() - 1) as f64 * p) as usize] * 1e3;
    println!(
        "{name}: us/tick {el:.2} pen mm p50 {:.4} p99 {:.4} max {:.4}; gain {:.2e} work+ {:.3} workin {:.3} ({:.2} %) cap {} dropped hash {:x}",
        q(0.5),
        q(0.99),
        q(1.0),
        lab.state.ledger.gain_max_j,
        work,
        lab.state.ledger.work_in_j,
        lab.state.ledger.gain_max_j / work * 100.0,
        lab.state.pair_capacity(),
        lab.state.hash()
    );
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    if a.len() > 1 {
        for n in &a[2..] {
            run(n, a[1].parse().unwrap());
        }
        return;
    }

    for k in [500.0, 1200.0] {
        for mu in [0.1, 0.5, 1.0] {
            slide(k, mu, None);
        }
    }
    slide(1000.0, 0.5, Some(0.1 * (0.04f64.powi(2) + 0.02f64.powi(2)) / 12.0 * 0.02));
    for n in [5, 7] {
        for g in [0.0, 1e-4, 1e-3] {
            chain(n, g);
        }
    }
    square();
    bounce(1.0, disc(0.01));
    bounce(0.5, disc(0.01));
    bounce(0.5, box_shape(0.02, 0.02));
    bounce(1.0, box_shape(0.02, 0.02));
    tap();
    ramp(26.565 - 0.3, 0.5);
    ramp(26.565 + 0.5, 0.5);
    ramp(20.0, 0.5);
    ramp(30.0, 0.3);
    tiles();
    stack(10, 1.0);
    stack(10, 10.0);
    for n in [1, 2, 4] {
        push_stack(n, 0.1);
        push_stack(n, 1.0);
        push_stack(n, 0.01);
    }
}
