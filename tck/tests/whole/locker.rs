//! Users of locks, with every way to ask and to let go.

use std::{rc::Rc, time::Duration};

use simba_actors::{Lock, LockError, LockTerm, Term};
use tokio::time::{sleep, timeout};

use crate::{
    ledger::Kind,
    life::Life,
    timing::{SLACK, stopping},
};

/// Asks for locks until it is aborted.
pub(crate) async fn ask(life: Rc<Life>) {
    loop {
        let lock = life.world.dice(|dice| {
            let name = dice.roll(life.world.locks.len() as u64) as usize;
            life.simba.lock(&life.world.locks[name]).expect("a good name")
        });
        let asked = match life.world.dice(|dice| dice.roll(10)) {
            0..4 => acquire(&life, &lock).await,
            4 => give_up(&life, &lock).await,
            5 | 6 => try_acquire(&life, &lock).await,
            7 => lock.holder().await.map(drop).or(Ok(())),
            _ => with(&life, &lock).await,
        };
        if let Err(LockError::Closed) = asked {
            return;
        }
        sleep(life.world.dice(|dice| dice.millis(1..1500))).await;
    }
}

fn lasts(life: &Life) -> Duration {
    let calm = life.world.is_calm();
    life.world.dice(|dice| match dice.roll(10) {
        _ if calm => dice.millis(1..200),
        0 => dice.millis(1000..8000),
        1..4 => Duration::ZERO,
        _ => dice.millis(1..900),
    })
}

async fn acquire(life: &Life, lock: &Lock) -> Result<(), LockError> {
    let (asked_at, limit) = (life.world.now(), life.world.dice(|dice| dice.millis(0..5000)));
    let answer = lock.acquire(limit).await;
    answered_within(life, lock, asked_at, limit);
    hold(life, answer?).await;
    Ok(())
}

/// Drops the call at any await.
async fn give_up(life: &Life, lock: &Lock) -> Result<(), LockError> {
    let patience = life.world.dice(|dice| dice.millis(0..1000));
    match timeout(patience, lock.acquire(Duration::from_secs(9))).await {
        Ok(answer) => hold(life, answer?).await,
        Err(_given_up) => {}
    }
    Ok(())
}

async fn try_acquire(life: &Life, lock: &Lock) -> Result<(), LockError> {
    let (asked_at, limit) = (life.world.now(), life.simba.config().renew() * 2);
    let answer = lock.try_acquire().await;
    answered_within(life, lock, asked_at, limit);
    if let Some(term) = answer? {
        hold(life, term).await;
    }
    Ok(())
}

async fn with(life: &Life, lock: &Lock) -> Result<(), LockError> {
    let (limit, lasts) = (life.world.dice(|dice| dice.millis(0..5000)), lasts(life));
    let work = async |term: &Term| {
        let _busy = life.world.busy(life.node, term, Kind::Work);
        sleep(lasts).await;
    };
    lock.with(limit, work).await
}

fn answered_within(life: &Life, lock: &Lock, asked_at: Duration, limit: Duration) {
    let took = life.world.now() - asked_at;
    if took > limit + SLACK {
        life.world.fail(format!("R12: {} answers after {took:?}, not {limit:?}", lock.name()));
    }
}

async fn hold(life: &Life, term: LockTerm) {
    let busy = life.world.busy(life.node, &term, Kind::Handler);
    life.world.say(format_args!("n{} holds {} #{}", life.node, term.name(), term.token()));
    sleep(lasts(life)).await;
    drop(busy);
    let name = term.name().clone();
    life.world.note(format_args!("n{} lets go of {name} #{}", life.node, term.token()));
    match life.world.dice(|dice| dice.roll(4)) {
        0 | 1 => drop(term),
        2 => drop(timeout(Duration::from_millis(1), term.release()).await),
        _ => {
            if timeout(stopping(), term.release()).await.is_err() {
                life.world.fail(format!("R12: {name} of n{} is not released in time", life.node));
            }
        }
    }
}
