//! Hints that come late, or not at all.

use std::{
    collections::BTreeSet,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::Stream;
use simba_actors::backends::{Hint, HintSource, LeaseName};
use tokio::time::{Sleep, sleep};

use crate::{dice::draw, weather::Cut, world::World};

pub(crate) struct LateHints {
    world: Arc<World>,
    node: usize,
    source: Box<dyn HintSource>,
    /// Ordered by the time at which they arrive; the storage's own order is that of random session ids.
    under_way: BTreeSet<(Duration, LeaseName)>,
    timer: Pin<Box<Sleep>>,
}

impl LateHints {
    pub(crate) fn new(world: Arc<World>, node: usize, source: Box<dyn HintSource>) -> Self {
        Self { world, node, source, under_way: BTreeSet::new(), timer: Box::pin(sleep(Duration::ZERO)) }
    }

    fn send(&mut self, hint: Hint) {
        let (now, calm) = (self.world.now(), self.world.weather(|weather| weather.calm));
        let Hint::Released { name, .. } = hint else { return };
        let chance = draw(self.world.seed ^ self.node as u64, name.as_str(), now.as_nanos() as u64);
        let lost = self.world.weather(|weather| weather.is_cut(self.node, Cut::Back));
        if lost || (!calm && chance.is_multiple_of(4)) {
            return;
        }
        let slowest = if calm { 8 } else { 600 };
        let late = Duration::from_millis(1 + (chance >> 8) % slowest);
        self.under_way.insert((now + late, name));
    }
}

impl HintSource for LateHints {
    fn want(&mut self, name: &LeaseName) {
        self.source.want(name);
    }

    fn unwant(&mut self, name: &LeaseName) {
        self.source.unwant(name);
    }
}

impl Stream for LateHints {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        while let Poll::Ready(hint) = Pin::new(&mut self.source).poll_next(cx) {
            match hint {
                Some(hint) => self.send(hint),
                None => return Poll::Ready(None),
            }
        }
        loop {
            let Some((due, _)) = self.under_way.first() else { return Poll::Pending };
            let left = due.saturating_sub(self.world.now());
            if left.is_zero() {
                let (_, name) = self.under_way.pop_first().expect("it was seen");
                return Poll::Ready(Some(Hint::Released { name, waiters: None }));
            }
            self.timer = Box::pin(sleep(left));
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}
