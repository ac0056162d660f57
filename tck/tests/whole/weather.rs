//! What the wire and the storage do to calls, and when.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use simba_actors::LeaseName;
use tokio::time::sleep;

use crate::{dice::Dice, world::World};

/// The state of the wire at one moment.
#[derive(Debug)]
pub(crate) struct Weather {
    pub(crate) calm: bool,
    /// Nodes that are cut off, and in which direction.
    cut: BTreeMap<usize, Cut>,
    outage: Option<Outage>,
    pub(crate) slow: Option<(LeaseName, Slow)>,
    /// Per mille of calls that meet with each misfortune.
    rate: u64,
    /// The longest ordinary way, in milliseconds.
    longest: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    There,
    Back,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outage {
    Refuses,
    Silent,
}

/// The trouble of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slow {
    /// Every call that names it takes longer.
    Call(Duration),
    /// The storage answers for the others and fails for this one.
    Fails,
}

/// What becomes of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    pub(crate) there: Duration,
    pub(crate) fate: Fate,
    pub(crate) back: Duration,
    /// After which the same request arrives once more.
    pub(crate) again: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Carried,
    Refused,
    RequestLost,
    ReplyLost,
    /// As lost, but the caller hears of it.
    RequestReset,
    ReplyReset,
}

impl Weather {
    pub(crate) fn new(dice: &mut Dice) -> Self {
        let (rate, longest) =
            ([0, 10, 40, 120][dice.roll(4) as usize], [4, 30, 200, 700][dice.roll(4) as usize]);
        Self { calm: false, cut: BTreeMap::new(), outage: None, slow: None, rate, longest }
    }

    /// Whether what leaves now arrives.
    pub(crate) fn is_cut(&self, node: usize, way: Cut) -> bool {
        let silent = self.outage == Some(Outage::Silent);
        silent || self.cut.get(&node).is_some_and(|cut| *cut == Cut::Both || *cut == way)
    }

    pub(crate) fn cut_off(&mut self, node: usize) {
        self.cut.insert(node, Cut::Both);
    }

    pub(crate) fn passage(&self, dice: &mut Dice) -> Passage {
        let longest = if self.calm { 8 } else { self.longest };
        let way = |dice: &mut Dice| dice.millis(1..longest + 2);
        let (there, back) = (way(dice), way(dice));
        let mut passage = Passage { there, fate: Fate::Carried, back, again: None };
        if self.outage == Some(Outage::Refuses) {
            passage.fate = Fate::Refused;
        } else if !self.calm {
            passage.fate = self.fate(dice);
            passage.again = dice.happens(self.rate).then(|| dice.millis(1..6000));
        }
        passage
    }

    fn fate(&self, dice: &mut Dice) -> Fate {
        let fates = [Fate::Refused, Fate::RequestLost, Fate::ReplyLost, Fate::RequestReset, Fate::ReplyReset];
        match dice.happens(self.rate) {
            true => fates[dice.roll(5) as usize],
            false => Fate::Carried,
        }
    }

    /// No faults from now on.
    pub(crate) fn clear_up(&mut self) {
        (self.calm, self.outage, self.slow) = (true, None, None);
        self.cut.clear();
    }

    fn begin(&mut self, spell: &Spell) {
        match spell {
            Spell::Cut(node, cut) => drop(self.cut.insert(*node, *cut)),
            Spell::Outage(outage) => self.outage = Some(*outage),
            Spell::Slow(name, slow) => self.slow = Some((name.clone(), *slow)),
        }
    }

    fn end(&mut self, spell: &Spell) {
        match spell {
            _ if self.calm => {}
            Spell::Cut(node, _) => drop(self.cut.remove(node)),
            Spell::Outage(_) => self.outage = None,
            Spell::Slow(..) => self.slow = None,
        }
    }
}

#[derive(Debug)]
enum Spell {
    Cut(usize, Cut),
    Outage(Outage),
    Slow(LeaseName, Slow),
}

/// One spell of bad weather after the other; several of these loops make them overlap.
pub(crate) async fn spells(world: Arc<World>) {
    loop {
        sleep(world.dice(|dice| dice.millis(200..4000))).await;
        if world.weather(|weather| weather.calm) {
            return;
        }
        let (spell, lasts) = world.dice(|dice| forecast(&world, dice));
        world.say(format_args!("weather {spell:?} for {lasts:?}"));
        world.weather(|weather| weather.begin(&spell));
        sleep(lasts).await;
        world.weather(|weather| weather.end(&spell));
    }
}

fn forecast(world: &World, dice: &mut Dice) -> (Spell, Duration) {
    let node = dice.roll(world.nodes as u64) as usize;
    match dice.roll(6) {
        0 => (Spell::Outage(Outage::Refuses), dice.millis(200..4000)),
        1 => (Spell::Outage(Outage::Silent), dice.millis(200..4500)),
        2 => (Spell::Slow(world.some_name(dice), Slow::Call(dice.millis(300..1500))), dice.millis(500..5000)),
        3 => (Spell::Slow(world.some_name(dice), Slow::Fails), dice.millis(500..5000)),
        4 => (Spell::Cut(node, Cut::Both), dice.millis(200..7000)),
        _ => {
            let cut = if dice.happens(500) { Cut::There } else { Cut::Back };
            (Spell::Cut(node, cut), dice.millis(200..5000))
        }
    }
}
