//! The terms that users have, and what must hold for them at every moment.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use simba_actors::{Holder, LeaseName, Term, Token};

use crate::timing::SLACK;

/// For how long an ended term is watched for coming back.
const MEMORY: Duration = Duration::from_secs(5);

/// One term on one node.
#[derive(Debug)]
pub(crate) struct Seat {
    term: Term,
    node: usize,
    /// Handlers that work for it: a deliberate end waits for them.
    handlers: AtomicU32,
    /// Work that Simba drops at its end.
    works: AtomicU32,
    ended_at: Mutex<Option<Duration>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Handler,
    Work,
}

/// Stands for something that works for a term.
#[derive(Debug)]
pub(crate) struct Busy {
    seat: Arc<Seat>,
    kind: Kind,
}

impl Busy {
    pub(crate) fn new(seat: Arc<Seat>, kind: Kind) -> Self {
        seat.counter(kind).fetch_add(1, Ordering::Relaxed);
        Self { seat, kind }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.seat.counter(self.kind).fetch_sub(1, Ordering::Relaxed);
    }
}

impl Seat {
    fn counter(&self, kind: Kind) -> &AtomicU32 {
        match kind {
            Kind::Handler => &self.handlers,
            Kind::Work => &self.works,
        }
    }

    fn is(&self, kind: Kind) -> bool {
        self.counter(kind).load(Ordering::Relaxed) > 0
    }

    /// Nobody else may lead meanwhile.
    fn is_protected(&self) -> bool {
        let busy = self.is(Kind::Handler) || self.is(Kind::Work);
        self.term.is_valid() || (busy && !self.term.hand_over_remaining().is_zero())
    }

    /// R2, and that work does not outlive its term.
    fn check_end(&self, now: Duration) -> Result<(), String> {
        let mut ended_at = self.ended_at.lock().unwrap_or_else(PoisonError::into_inner);
        if self.term.is_valid() {
            return match *ended_at {
                None => Ok(()),
                Some(at) => Err(format!("R2: {self} is valid again, it had ended at {at:?}")),
            };
        }
        let at = *ended_at.get_or_insert(now);
        if self.is(Kind::Work) && now > at + SLACK {
            return Err(format!("work outlives {self}, which ended at {at:?}"));
        }
        Ok(())
    }

    fn is_forgotten(&self, now: Duration) -> bool {
        let ended_at = *self.ended_at.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = !self.is(Kind::Handler) && !self.is(Kind::Work);
        idle && ended_at.is_some_and(|at| now > at + MEMORY)
    }
}

impl std::fmt::Display for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} #{} of n{} ({})", self.term.name(), self.term.token(), self.node, self.term.session())
    }
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pages: BTreeMap<LeaseName, Page>,
}

#[derive(Debug, Default)]
struct Page {
    seats: Vec<Arc<Seat>>,
    /// What a fenced resource has accepted so far.
    register: Option<Token>,
}

impl Ledger {
    pub(crate) fn seat(&mut self, node: usize, term: &Term) -> Arc<Seat> {
        let seats = &mut self.pages.entry(term.name().clone()).or_default().seats;
        let known = seats.iter().find(|seat| seat.node == node && seat.term.token() == term.token());
        if let Some(seat) = known {
            return seat.clone();
        }
        let seat = Arc::new(Seat {
            term: term.clone(),
            node,
            handlers: AtomicU32::new(0),
            works: AtomicU32::new(0),
            ended_at: Mutex::new(None),
        });
        seats.push(seat.clone());
        seat
    }

    /// `witness` asks the storage, and names its session as the nodes do.
    pub(crate) fn check(
        &mut self,
        now: Duration,
        witness: Option<&impl Fn(&LeaseName) -> Option<Holder>>,
    ) -> Result<(), String> {
        for (name, page) in &mut self.pages {
            page.check(now)?;
            if let Some(holder) = witness {
                page.check_storage(|| holder(name))?;
            }
            page.seats.retain(|seat| !seat.is_forgotten(now));
        }
        Ok(())
    }
}

impl Page {
    fn check(&mut self, now: Duration) -> Result<(), String> {
        let mut protected: Option<&Seat> = None;
        for seat in &self.seats {
            seat.check_end(now)?;
            if seat.is_protected()
                && let Some(other) = protected.replace(seat)
            {
                return Err(format!("I2: two at once: {other} and {seat}"));
            }
            if seat.term.is_valid() && self.register.replace(seat.term.token()) > Some(seat.term.token()) {
                return Err(format!("I4: the resource accepts {seat} after a higher token"));
            }
        }
        Ok(())
    }

    /// I6: a valid term is held in the storage, for at least as long as it says.
    fn check_storage(&self, holder: impl Fn() -> Option<Holder>) -> Result<(), String> {
        for seat in self.seats.iter().filter(|seat| seat.term.is_valid()) {
            let term = &seat.term;
            let held = holder().is_some_and(|holder| {
                let same = holder.token == term.token() && holder.session == *term.session();
                same && holder.free_in >= Some(term.remaining())
            });
            if !held {
                return Err(format!("I6: {seat} is valid, and the storage knows nothing of it"));
            }
        }
        Ok(())
    }
}
