//! Leader actors with every habit that users have.

use std::{future::Future, sync::Arc, time::Duration};

use actix::prelude::*;
use simba_actors::{Elected, Reason, Revoked, Term};
use tokio::time::sleep;

use crate::{ledger::Kind, lie::Lie, unforeseen::SIMULATED, world::World};

/// The one who hears, apart from how its mailbox works.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) world: Arc<World>,
    pub(crate) node: usize,
    pub(crate) diary: usize,
    pub(crate) role: Role,
    /// Whether somebody builds it anew after a panic.
    pub(crate) supervised: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Leads,
    /// Hears everything, and no release waits for it.
    Listens,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Quick,
    Slow(Duration),
    Never,
    Panics,
    PanicsAfter(Duration),
}

impl Part {
    fn mood(&self) -> Mood {
        if self.world.is_calm() {
            return Mood::Quick;
        }
        self.world.dice(|dice| match dice.roll(20) {
            0..9 => Mood::Quick,
            9..15 => Mood::Slow(dice.millis(1..2000)),
            15 => Mood::Slow(dice.millis(1000..6000)),
            16..18 => Mood::Never,
            18 => Mood::Panics,
            _ => Mood::PanicsAfter(dice.millis(1..2000)),
        })
    }

    fn elected(&self, term: Term) -> impl Future<Output = ()> + use<> {
        let token = term.token();
        self.world.diary(self.diary, |diary| diary.elected(token));
        if self.world.lie == Lie::RepeatsElected && self.world.dice(|dice| dice.happens(200)) {
            self.world.diary(self.diary, |diary| diary.elected(token));
        }
        self.handle(term)
    }

    fn revoked(&self, term: Term, reason: Reason) -> impl Future<Output = ()> + use<> {
        let token = term.token();
        let dropped = self.world.lie == Lie::DropsRevoked && self.world.dice(|dice| dice.happens(200));
        if !dropped {
            self.world.diary(self.diary, |diary| diary.revoked(token));
        }
        if term.is_valid() {
            self.world.fail(format!("{} #{token} is valid after Revoked ({reason})", term.name()));
        }
        self.handle(term)
    }

    /// What the handler does, from its call on.
    fn handle(&self, term: Term) -> impl Future<Output = ()> + use<> {
        let (world, diary, comes_back) = (self.world.clone(), self.diary, self.supervised);
        let (mood, busy) = match self.role {
            Role::Leads => (self.mood(), Some(world.busy(self.node, &term, Kind::Handler))),
            Role::Listens => (Mood::Quick, None),
        };
        world.watch(self.node, &term);
        if mood == Mood::Panics {
            panic(&world, diary, comes_back);
        }
        async move {
            // Dropped with the future, however that ends.
            let _busy = busy;
            match mood {
                Mood::Quick | Mood::Panics => {}
                Mood::Slow(lasts) => sleep(lasts).await,
                Mood::Never => drop(world.over.wait().await),
                Mood::PanicsAfter(lasts) => {
                    sleep(lasts).await;
                    panic(&world, diary, comes_back);
                }
            }
        }
    }
}

fn panic(world: &World, diary: usize, comes_back: bool) {
    world.note(format_args!("handler panics, diary {diary}"));
    world.diary(diary, |diary| {
        diary.panicked(comes_back);
        Ok(())
    });
    panic!("{SIMULATED}");
}

/// Hears the next message while it handles the last.
pub(crate) struct Open(pub(crate) Part);

/// Hears the next message when it has handled the last.
pub(crate) struct Blocking(pub(crate) Part);

impl Actor for Open {
    type Context = Context<Self>;
}

impl Handler<Elected> for Open {
    type Result = ResponseActFuture<Self, ()>;
    fn handle(&mut self, Elected(term): Elected, _: &mut Context<Self>) -> Self::Result {
        Box::pin(self.0.elected(term).into_actor(self))
    }
}

impl Handler<Revoked> for Open {
    type Result = ResponseActFuture<Self, ()>;
    fn handle(&mut self, Revoked(term, reason): Revoked, _: &mut Context<Self>) -> Self::Result {
        Box::pin(self.0.revoked(term, reason).into_actor(self))
    }
}

impl Actor for Blocking {
    type Context = Context<Self>;
}

impl Handler<Elected> for Blocking {
    type Result = AtomicResponse<Self, ()>;
    fn handle(&mut self, Elected(term): Elected, _: &mut Context<Self>) -> Self::Result {
        AtomicResponse::new(Box::pin(self.0.elected(term).into_actor(self)))
    }
}

impl Handler<Revoked> for Blocking {
    type Result = AtomicResponse<Self, ()>;
    fn handle(&mut self, Revoked(term, reason): Revoked, _: &mut Context<Self>) -> Self::Result {
        AtomicResponse::new(Box::pin(self.0.revoked(term, reason).into_actor(self)))
    }
}
