//! One session of a test, and what it sees.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use simba_backends::{
    Acquired, Acquisition, Hint, HintSource, Holder, KeepAlive, LeaseBackend, LeaseName, Metadata, Release,
    SessionId, Token,
};
use tokio::time::timeout;

/// A lease that does not run out within a test.
pub(crate) const LONG: Duration = Duration::from_secs(3600);

/// Longer than anything takes, on any machine.
pub(crate) const BOUND: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) backend: Arc<dyn LeaseBackend>,
    pub(crate) session: SessionId,
    pub(crate) lease: Duration,
}

impl Peer {
    pub(crate) async fn open(backend: Arc<dyn LeaseBackend>, lease: Duration) -> Self {
        let opened = backend.open_session(lease, &Metadata::default()).await.unwrap();
        Self { backend, session: opened.session, lease }
    }

    pub(crate) async fn acquire_all(&self, names: &[LeaseName]) -> Vec<(LeaseName, Acquisition)> {
        match self.backend.acquire(&self.session, names).await.unwrap() {
            Acquired::Answers(answers) => answers,
            Acquired::Expired => panic!("{} has expired", self.session),
        }
    }

    pub(crate) async fn acquire(&self, name: &LeaseName) -> Acquisition {
        self.acquire_all(std::slice::from_ref(name)).await.remove(0).1
    }

    pub(crate) async fn granted(&self, name: &LeaseName) -> Token {
        let answer = self.acquire(name).await;
        let Acquisition::Granted { token, .. } = answer else { panic!("{name}: {answer:?}") };
        token
    }

    pub(crate) async fn is_held(&self, name: &LeaseName) -> bool {
        matches!(self.acquire(name).await, Acquisition::Held { .. })
    }

    pub(crate) async fn release(&self, name: &LeaseName, token: Token) {
        let answers = self.backend.release(&self.session, &[(name.clone(), token)]).await.unwrap();
        assert!(matches!(answers[..], [(_, Release::Gone)]), "{answers:?}");
    }

    /// What it holds, or `None` where it has expired.
    pub(crate) async fn owned(&self) -> Option<Vec<(LeaseName, Token)>> {
        match self.backend.keep_alive(&self.session, self.lease).await.unwrap() {
            KeepAlive::Live { owned, .. } => Some(owned),
            KeepAlive::Expired => None,
        }
    }

    pub(crate) fn hints(&self) -> Box<dyn HintSource> {
        self.backend.hints().expect("the storage hints")
    }

    pub(crate) async fn holder(&self, name: &LeaseName) -> Option<Holder> {
        self.backend.inspect(name).await.unwrap()
    }
}

pub(crate) fn name(text: impl AsRef<str>) -> LeaseName {
    text.as_ref().parse().unwrap()
}

pub(crate) fn names(prefix: &str, count: usize) -> Vec<LeaseName> {
    (0..count).map(|number| name(format!("{prefix}-{number:05}"))).collect()
}

/// Asks again until it is so.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(BOUND / 600).await;
    }
    panic!("not within {BOUND:?}: {what}");
}

/// Makes calls of each kind and drops them before they are answered, at whichever await they are by then.
pub(crate) async fn drop_calls_at_random(mine: &Peer, all: &[LeaseName]) {
    let (backend, group) = (&mine.backend, "g".parse().unwrap());
    for round in 0..300_u32 {
        let (polls, after) = (round % 7, Duration::from_micros(u64::from(round * 7919 % 6007)));
        let batch = &all[..1 + (round as usize * 31) % 200];
        match round % 5 {
            0 => abandon(backend.acquire(&mine.session, batch), polls, after).await,
            1 => abandon(backend.keep_alive(&mine.session, LONG), polls, after).await,
            2 => abandon(backend.join(&mine.session, &group), polls, after).await,
            3 => abandon(backend.members(&group), polls, after).await,
            _ => {
                let owned = timeout(BOUND, mine.owned()).await.expect("the next call is answered");
                let owned = owned.expect("the session lives");
                abandon(backend.release(&mine.session, &owned), polls, after).await;
            }
        }
    }
}

async fn abandon(call: impl Future, polls: u32, after: Duration) {
    let mut call = pin!(call);
    for _ in 0..polls {
        let polled = futures_util::poll!(call.as_mut());
        if polled.is_ready() {
            return;
        }
        tokio::task::yield_now().await;
    }
    // An error says that it was dropped.
    let _ = timeout(after, call).await;
}

/// What dropped calls have taken can be given back, and all be had.
pub(crate) async fn all_can_be_had(mine: &Peer, all: &[LeaseName]) {
    let owned = mine.owned().await.unwrap();
    mine.backend.release(&mine.session, &owned).await.unwrap();
    assert_eq!(mine.owned().await.unwrap(), []);
    mine.acquire_all(all).await;
    assert_eq!(mine.owned().await.unwrap().len(), all.len());
}

pub(crate) async fn next(hints: &mut dyn HintSource) -> Hint {
    let hint = timeout(BOUND, poll_fn(|cx| Pin::new(&mut *hints).poll_next(cx))).await;
    hint.expect("a hint comes in").expect("hints do not end")
}

/// Waits for what makes a waiter of that name look again.
pub(crate) async fn hinted(hints: &mut dyn HintSource, waited: &LeaseName) {
    while !matches!(next(hints).await, Hint::Released { name, .. } if name == *waited) {}
}

/// Waits until a subscription has said what it says at first.
pub(crate) async fn listening(hints: &mut dyn HintSource) {
    while next(hints).await != Hint::Gap {}
}

#[expect(
    clippy::disallowed_methods,
    reason = "a figure is printed, or a bound is kept; no lease is measured"
)]
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}
