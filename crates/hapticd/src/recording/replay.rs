//! Runs a recording again and compares every tick: the same texts, readings and orders must give the same bits.

use super::kept::Kept;
use crate::failure::Failure;
use crate::files::profile::Profile;
use crate::files::source::Source;
use crate::files::{profile, scene};
use crate::setup::{Setup, Sources};
use haptic_loop::command::Command;
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
use haptic_record::header::{Text, Texts};
use haptic_record::reader::{BodyHashes, Item, ReadEnd};
use haptic_record::replay_device::{Deed, Prompter, replay_device};
use haptic_record::tap::{AppliedOrder, Order, body_hash, is_picture_due};
use haptic_record::tick_message::{TickMessage, fault_number};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// What a replay found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proof {
    /// Ticks that were run again.
    pub ticks: u64,
    /// Of the final state, hexadecimal.
    pub state_hash: String,
    /// The recording has no end: whoever wrote it was stopped.
    pub truncated: bool,
    /// Where the replay first differs from the recording.
    pub first_difference: Option<Difference>,
    /// From where on nothing can be proven, and why.
    pub unproved: Option<Unproved>,
}

/// Where the replay first differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// In which tick.
    pub tick: u64,
    /// `state`, `force`, `fault` or `phase`.
    pub what: &'static str,
    /// The body in which it began, as far as the next picture of the recording tells; the tool, if it is among several.
    pub body: Option<String>,
    /// All bodies that differ in that picture.
    pub bodies: Vec<String>,
    /// As recorded.
    pub recorded: String,
    /// As run again.
    pub replayed: String,
}

/// From where on nothing can be proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unproved {
    /// The first tick of which nothing can be said.
    pub from_tick: u64,
    /// Why.
    pub reason: String,
}

/// The gains and limits of a replay.
pub enum Settings {
    /// As recorded, with every change while it ran; the result must be equal.
    AsRecorded,
    /// Those of another profile throughout; nothing is compared.
    Of(Box<Profile>),
}

/// A recording that is run again.
pub struct Replay {
    rendering: HapticLoop,
    prompter: Prompter,
    axes: u8,
    orders: VecDeque<AppliedOrder>,
    taken: u32,
    /// Worlds that will be put in place of the first, by number.
    worlds: BTreeMap<u64, World>,
    is_as_recorded: bool,
    expected_tick: u64,
    proof: Proof,
    /// After a difference: the hashes of our own next picture, to name the body by.
    picture: Naming,
}

/// On the way from a difference to the body that it began in.
enum Naming {
    /// There is none to name.
    Nothing,
    /// The next picture is waited for.
    Awaiting,
    /// Our own picture; the recording's comes a little later in the file.
    Taken(BodyHashes),
}

impl Replay {
    /// Builds the world from the recording alone.
    ///
    /// # Errors
    /// When its texts are not those of a profile, a scene and a device.
    pub fn new(kept: &Kept, settings: Settings) -> Result<Self, Failure> {
        let is_as_recorded = matches!(settings, Settings::AsRecorded);
        let recorded = profile::load(&source_of(&kept.header.texts.profile))?;
        let profile = match settings {
            Settings::AsRecorded => recorded,
            Settings::Of(profile) => *profile,
        };
        let mut setup = Setup::of_sources(profile, sources_of(&kept.header.texts))?;
        setup.device_rate_hz = kept.header.device.rate_hz;
        let (device, prompter) = replay_device(&kept.header.device);
        let worlds = kept.later_worlds().filter_map(|number| world_of(kept, number)).collect::<Result<_, Failure>>()?;
        let rendering = setup.into_loop_of_every_tick(Box::new(device))?;
        let proof = Proof {
            ticks: 0,
            state_hash: String::new(),
            truncated: kept.is_truncated(),
            first_difference: None,
            unproved: None,
        };
        Ok(Self {
            rendering,
            prompter,
            axes: kept.header.device.axes,
            orders: kept.orders.iter().copied().collect(),
            taken: 0,
            worlds,
            is_as_recorded,
            expected_tick: 1,
            proof,
            picture: Naming::Nothing,
        })
    }

    /// Runs everything, and hands the loop to `visit` after every tick that could be run.
    ///
    /// # Errors
    /// Whatever `visit` answers, or a file that has gone.
    pub fn run(
        mut self,
        kept: &Kept,
        mut visit: impl FnMut(&HapticLoop) -> Result<(), Failure>,
    ) -> Result<(Proof, HapticLoop), Failure> {
        kept.visit(|item| {
            match item {
                Item::Tick(tick) if self.can_run(&tick) => {
                    self.tick(&tick);
                    visit(&self.rendering)?;
                }
                Item::Bodies(bodies) => self.name_body(&bodies),
                _ => {}
            }
            Ok(())
        })?;
        if let (ReadEnd::Damaged(problem), None) = (&kept.end, &self.proof.unproved) {
            self.give_up(self.expected_tick, format!("the file is damaged: {problem}"));
        }
        self.proof.state_hash = format!("{:016x}", self.rendering.world().state.hash());
        Ok((self.proof, self.rendering))
    }

    fn give_up(&mut self, from_tick: u64, reason: String) {
        self.proof.unproved.get_or_insert(Unproved { from_tick, reason });
    }

    /// A tick can be run if every tick and order before it is known.
    fn can_run(&mut self, message: &TickMessage) -> bool {
        if self.proof.unproved.is_some() {
            return false;
        }
        let expected = self.expected_tick;
        if message.tick == expected {
            return true;
        }
        let reason = if expected == 1 {
            format!("the recording begins with tick {}: how the world stood then is not in it", message.tick)
        } else {
            format!("ticks {expected} to {} are missing", message.tick.saturating_sub(1))
        };
        self.give_up(expected, reason);
        false
    }

    fn tick(&mut self, message: &TickMessage) {
        self.take_orders(message);
        self.prompter.prompt(Deed { reading: message.reading, sent: message.sent });
        self.rendering.tick(message.now, message.skipped);
        self.expected_tick += 1;
        self.proof.ticks += 1;
        if self.is_as_recorded && self.proof.first_difference.is_none() && self.proof.unproved.is_none() {
            self.compare(message);
        }
        if matches!(self.picture, Naming::Awaiting) && is_picture_due(message.tick) {
            self.picture = Naming::Taken(self.hashes());
        }
    }

    fn hashes(&self) -> BodyHashes {
        let world = self.rendering.world();
        let hashes = world.moving().iter().map(|&body| body_hash(&world.state.motions[body as usize])).collect();
        BodyHashes { tick: self.rendering.last().tick, hashes }
    }

    fn take_orders(&mut self, message: &TickMessage) {
        while let Some(applied) = self.orders.front().copied().filter(|order| order.before_tick <= message.tick) {
            self.orders.pop_front();
            self.taken += 1;
            self.take_order(&applied.order, message.tick);
        }
        if self.taken != message.orders {
            let missing = message.orders.abs_diff(self.taken);
            self.give_up(message.tick, format!("{missing} orders to the loop are missing"));
        }
    }

    fn take_order(&mut self, order: &Order, tick: u64) {
        let is_settings = matches!(order, Order::Retune(_) | Order::Protect(_) | Order::Remap(_));
        if is_settings && !self.is_as_recorded {
            return;
        }
        match self.command_of(order) {
            Some(command) => drop(self.rendering.apply(command)),
            None => self.give_up(tick, "the recording does not hold the world that was put in place".to_owned()),
        }
    }

    fn command_of(&self, order: &Order) -> Option<Command> {
        Some(match order {
            Order::Retune(gains) => Command::Retune(*gains),
            Order::Protect(safety) => Command::Protect(*safety),
            Order::Remap(mapping) => Command::Remap(mapping.frame(self.axes).ok()?),
            Order::Pause => Command::Pause,
            Order::Resume => Command::Resume,
            Order::Step(ticks) => Command::Step(*ticks),
            Order::Replace { world } => Command::Replace(Box::new(self.worlds.get(world)?.clone())),
            Order::GuideHand(target_m) => Command::GuideHand(*target_m),
        })
    }

    fn compare(&mut self, message: &TickMessage) {
        let report = self.rendering.last();
        let state_hash = self.rendering.world().state.hash();
        let bits = |force_n: nalgebra::Vector2<f64>| [force_n.x, force_n.y].map(|part| (part + 0.0).to_bits());
        let difference = |what, recorded: String, replayed: String| {
            Some(Difference { tick: message.tick, what, body: None, bodies: Vec::new(), recorded, replayed })
        };
        let fault = report.fault.as_ref().map_or(0, fault_number);
        let found = if state_hash != message.state_hash {
            difference("state", format!("{:016x}", message.state_hash), format!("{state_hash:016x}"))
        } else if bits(report.effort_n) != bits(message.effort_n) {
            difference(
                "force",
                format!("{:?}", message.effort_n.as_slice()),
                format!("{:?}", report.effort_n.as_slice()),
            )
        } else if fault != message.fault {
            difference("fault", message.fault.to_string(), fault.to_string())
        } else if report.phase != message.phase {
            difference("phase", message.phase.name().to_owned(), report.phase.name().to_owned())
        } else {
            None
        };
        if found.as_ref().is_some_and(|difference| difference.what == "state") {
            self.picture = Naming::Awaiting;
        }
        self.proof.first_difference = found;
    }

    /// Compares the first picture at or after a difference, to say where it is.
    fn name_body(&mut self, recorded: &BodyHashes) {
        let (Naming::Taken(own), Some(difference)) = (&self.picture, self.proof.first_difference.as_mut()) else {
            return;
        };
        if recorded.tick != own.tick {
            return;
        }
        let world = self.rendering.world();
        let pairs = own.hashes.iter().zip(&recorded.hashes);
        let differing = world.moving().iter().zip(pairs).filter(|(_, (own, recorded))| own != recorded);
        let bodies: Vec<u32> = differing.map(|(&body, _)| body).collect();
        self.picture = Naming::Nothing;
        let tool = world.scene.tool.map(|tool| tool.body as u32).filter(|tool| bodies.contains(tool));
        let name = |body: u32| world.scene.bodies[body as usize].name.clone();
        difference.body = tool.or_else(|| bodies.first().copied()).map(name);
        difference.bodies = bodies.into_iter().map(name).collect();
    }
}

fn source_of(text: &Text) -> Source {
    Source::in_memory(&text.name, &text.text)
}

fn sources_of(texts: &Texts) -> Sources {
    Sources {
        scene: source_of(&texts.scene),
        device: source_of(&texts.device),
        hand: texts.hand.as_ref().map(source_of),
    }
}

fn world_of(kept: &Kept, number: u64) -> Option<Result<(u64, World), Failure>> {
    let text = kept.scene_of(number)?;
    let scene = scene::load(&Source::in_memory(&format!("scene of world {number}"), text));
    Some(scene.map(|scene| (number, World::new(scene).numbered(number))).map_err(Failure::from))
}
