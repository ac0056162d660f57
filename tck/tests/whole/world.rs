//! What everybody in a run shares: chance, weather, storage, and the books that must add up.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use futures_util::FutureExt;
use simba_actors::{
    Holder, LeaseName, Term,
    backends::{KeepAlive, LeaseBackend, memory::MemoryBackend},
};
use tokio::{sync::SetOnce, time::Instant};

use crate::{
    diary::{Diary, Ear},
    dice::Dice,
    ledger::{Busy, Kind, Ledger},
    lie::Lie,
    reign::Reign,
    sessions::Sessions,
    storage::Storage,
    trace::Trace,
    weather::Weather,
};

pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) nodes: usize,
    pub(crate) lie: Lie,
    pub(crate) elections: Vec<LeaseName>,
    pub(crate) locks: Vec<LeaseName>,
    pub(crate) memory: MemoryBackend,
    /// Handlers that never resolve do so when all is over.
    pub(crate) over: SetOnce<()>,
    origin: Instant,
    dice: Mutex<Dice>,
    weather: Mutex<Weather>,
    trace: Mutex<Trace>,
    sessions: Mutex<Sessions>,
    ledger: Mutex<Ledger>,
    reign: Mutex<Reign>,
    diaries: Mutex<Vec<Diary>>,
    failure: Mutex<Option<String>>,
    /// Every storage that was ever opened: what still has one has not ended.
    storages: Mutex<Vec<Weak<Storage>>>,
    /// Lives whose events have not ended.
    lives: Mutex<(usize, BTreeSet<usize>)>,
}

#[expect(clippy::disallowed_methods, reason = "the simulation's own clock, which a paused runtime drives")]
fn now() -> Instant {
    Instant::now()
}

fn with<T, R>(mutex: &Mutex<T>, act: impl FnOnce(&mut T) -> R) -> R {
    act(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

impl World {
    pub(crate) fn new(seed: u64, lie: Lie) -> Arc<Self> {
        let mut dice = Dice::new(seed);
        let names = |prefix: &str, count: u64| {
            (0..count).map(|n| format!("{prefix}{n}").parse().expect("a letter and a digit")).collect()
        };
        Arc::new(Self {
            seed,
            nodes: 3 + dice.roll(3) as usize,
            lie,
            elections: names("e", 2 + dice.roll(2)),
            locks: names("l", 1 + dice.roll(2)),
            memory: MemoryBackend::new(),
            over: SetOnce::new(),
            origin: now(),
            weather: Mutex::new(Weather::new(&mut dice)),
            dice: Mutex::new(dice),
            trace: Mutex::new(Trace::new()),
            sessions: Mutex::default(),
            ledger: Mutex::default(),
            reign: Mutex::default(),
            diaries: Mutex::default(),
            failure: Mutex::default(),
            storages: Mutex::default(),
            lives: Mutex::default(),
        })
    }

    pub(crate) fn now(&self) -> Duration {
        now() - self.origin
    }

    pub(crate) fn dice<R>(&self, act: impl FnOnce(&mut Dice) -> R) -> R {
        with(&self.dice, act)
    }

    pub(crate) fn weather<R>(&self, act: impl FnOnce(&mut Weather) -> R) -> R {
        with(&self.weather, act)
    }

    pub(crate) fn sessions<R>(&self, act: impl FnOnce(&mut Sessions) -> R) -> R {
        with(&self.sessions, act)
    }

    pub(crate) fn trace<R>(&self, act: impl FnOnce(&mut Trace) -> R) -> R {
        with(&self.trace, act)
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.weather(|weather| weather.calm)
    }

    pub(crate) fn some_name(&self, dice: &mut Dice) -> LeaseName {
        let all = self.elections.len() + self.locks.len();
        let at = dice.roll(all as u64) as usize;
        self.elections.iter().chain(&self.locks).nth(at).expect("it is one of them").clone()
    }

    /// Writes down what happened.
    pub(crate) fn note(&self, text: fmt::Arguments<'_>) {
        let (at, text) = (self.now(), text.to_string());
        self.trace(|trace| trace.line(at, &text));
    }

    /// Writes down what happened, and checks that all is well.
    pub(crate) fn say(&self, text: fmt::Arguments<'_>) {
        self.note(text);
        self.check();
    }

    pub(crate) fn check(&self) {
        let now = self.now();
        let storage = |name: &LeaseName| self.holder(name);
        let witness = (!self.lie.is_in_the_books()).then_some(&storage);
        let checked = with(&self.ledger, |ledger| ledger.check(now, witness));
        self.expect(checked);
    }

    /// Who holds a name in the storage's own view.
    pub(crate) fn holder(&self, name: &LeaseName) -> Option<Holder> {
        let holder = self.memory.inspect(name).now_or_never().expect("memory never waits");
        let holder = holder.expect("memory never fails")?;
        let session = self.sessions(|sessions| sessions.alias(&holder.session));
        Some(Holder { session, ..holder })
    }

    pub(crate) fn expect(&self, checked: Result<(), String>) {
        if let Err(broken) = checked {
            self.fail(broken);
        }
    }

    /// The first violation counts.
    pub(crate) fn fail(&self, broken: String) {
        self.note(format_args!("VIOLATION {broken}"));
        with(&self.failure, |failure| failure.get_or_insert(broken).len());
    }

    pub(crate) fn failure(&self) -> Option<String> {
        with(&self.failure, |failure| failure.clone())
    }

    pub(crate) fn busy(&self, node: usize, term: &Term, kind: Kind) -> Busy {
        Busy::new(with(&self.ledger, |ledger| ledger.seat(node, term)), kind)
    }

    /// Watches a term that somebody has.
    pub(crate) fn watch(&self, node: usize, term: &Term) {
        with(&self.ledger, |ledger| drop(ledger.seat(node, term)));
    }

    pub(crate) fn reign<R>(&self, act: impl FnOnce(&mut Reign, Duration) -> R) -> R {
        let now = self.now();
        with(&self.reign, |reign| act(reign, now))
    }

    pub(crate) fn open_diary(&self, who: String, life: usize, ear: Ear) -> usize {
        with(&self.diaries, |diaries| {
            diaries.push(Diary::new(who, life, ear));
            diaries.len() - 1
        })
    }

    pub(crate) fn diary(&self, number: usize, write: impl FnOnce(&mut Diary) -> Result<(), String>) {
        let written = with(&self.diaries, |diaries| write(&mut diaries[number]));
        self.expect(written);
    }

    /// Simba is closed: every diary of that life ends.
    pub(crate) fn end_diaries(&self, life: usize) {
        let ended = with(&self.diaries, |diaries| {
            let mut of_life = diaries.iter_mut().filter(|diary| diary.life() == life);
            of_life.try_for_each(Diary::stopped)
        });
        self.expect(ended);
    }

    pub(crate) fn opened(&self, storage: &Arc<Storage>) {
        let number = with(&self.storages, |storages| {
            storages.push(Arc::downgrade(storage));
            storages.len() - 1
        });
        self.note(format_args!("storage {number} of {storage:?}"));
    }

    pub(crate) fn next_life(&self) -> usize {
        with(&self.lives, |(next, alive)| {
            *next += 1;
            alive.insert(*next);
            *next
        })
    }

    pub(crate) fn heard_last(&self, life: usize) {
        with(&self.lives, |(_, alive)| alive.remove(&life));
    }

    /// I15, as far as Simba's own tasks are concerned: all of them have the storage, or an address of
    /// somebody who has.
    pub(crate) fn check_nothing_runs(&self) {
        let storages: Vec<_> = with(&self.storages, |all| {
            let alive = all.iter().enumerate().filter(|(_, one)| one.strong_count() > 0);
            alive.map(|(number, _)| number).collect()
        });
        let lives = with(&self.lives, |(_, alive)| alive.clone());
        if !storages.is_empty() || !lives.is_empty() {
            self.fail(format!(
                "I15: the Simbas on the storages {storages:?} run, the events of {lives:?} go on"
            ));
        }
    }

    /// I8: no session is left, and nobody holds anything.
    pub(crate) fn check_nothing_is_held(&self) {
        for name in self.elections.iter().chain(&self.locks) {
            if let Some(holder) = self.holder(name) {
                self.fail(format!("I15: {name} is held by {} after the end", holder.session));
            }
        }
    }

    pub(crate) fn check_no_session_lives(&self) {
        for (alias, real) in self.sessions(|sessions| sessions.all_real()) {
            let answer = self.memory.keep_alive(&real, Duration::from_millis(1)).now_or_never();
            let answer = answer.expect("memory never waits").expect("memory never fails");
            if answer != KeepAlive::Expired {
                self.fail(format!("I7: session {alias} lives after the end"));
            }
        }
    }

    /// Every user has heard the last.
    pub(crate) fn end_all_diaries(&self) {
        let ended = with(&self.diaries, |diaries| diaries.iter_mut().try_for_each(Diary::stopped));
        self.expect(ended);
    }
}
