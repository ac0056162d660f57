//! What happened, for people and programs that watch.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use serde::Serialize;
use simba_backends::{LeaseBackend, LeaseName, SessionId, Token};
use tokio::sync::broadcast;
use tokio_stream::wrappers::{BroadcastStream, errors::BroadcastStreamRecvError};

use tracing::error;

use crate::{engine::Reason, supervise::Notice};

/// How many events a slow subscriber can be behind.
const CAPACITY: usize = 1024;

/// Tells one change of a session, a term, or Simba itself.
///
/// Events are for watching; what must be done at the end of a term belongs to its `Revoked` message or
/// [`Term::run`](crate::Term::run). Serialized, each is a map with the variant's name under `event`.
///
/// # Examples
///
/// ```
/// use simba_actors::SimbaEvent;
///
/// fn is_alarm(event: &SimbaEvent) -> bool {
///     matches!(event, SimbaEvent::TokenRegressed { .. } | SimbaEvent::ClockStep { .. })
/// }
/// assert!(!is_alarm(&SimbaEvent::Resumed));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SimbaEvent {
    /// The storage is set up in a way that can break a promise later. Each subscriber is told first.
    StorageWarning {
        /// What an operator should change.
        message: String,
    },
    /// A session was opened.
    SessionOpened {
        /// Its id.
        session: SessionId,
    },
    /// A session could not be opened; it is tried again.
    OpenFailed {
        /// How many tries have failed in a row.
        failures: u32,
        /// What the backend said.
        error: String,
    },
    /// A keep-alive failed; it is tried again.
    RenewFailed {
        /// How many have failed in a row.
        failures: u32,
        /// What the backend said.
        error: String,
    },
    /// The last keep-alive failed, and the terms are still valid.
    Suspended {
        /// For how long they are.
        remaining: Duration,
    },
    /// A keep-alive was answered again before the deadline.
    Resumed,
    /// The session has expired, and with it everything that it held.
    SessionExpired {
        /// Its id, which is never used again.
        session: SessionId,
    },
    /// A candidate became the leader.
    Elected {
        /// The name of the election.
        name: LeaseName,
        /// The token of the term.
        token: Token,
    },
    /// A leader's term has ended.
    Revoked {
        /// The name of the election.
        name: LeaseName,
        /// The token of the term.
        token: Token,
        /// Why it ended.
        reason: Reason,
    },
    /// A lock was acquired.
    LockAcquired {
        /// The name of the lock.
        name: LeaseName,
        /// The token of the term.
        token: Token,
    },
    /// A lock's term has ended.
    LockReleased {
        /// The name of the lock.
        name: LeaseName,
        /// The token of the term.
        token: Token,
        /// Why it ended.
        reason: Reason,
    },
    /// The storage has confirmed that a lease is free.
    Released {
        /// The name of the lease.
        name: LeaseName,
        /// The token under which it was held.
        token: Token,
    },
    /// The storage granted a token that is not above all that this process had for the name: it has lost data.
    TokenRegressed {
        /// The name of the lease.
        name: LeaseName,
        /// The token granted.
        token: Token,
        /// The highest that this process had.
        floor: Token,
    },
    /// The clock of this host or of the storage has stepped, or runs wrong by more than the drift; or another
    /// process contends for the same name with a longer lease; or somebody removed a session before its time.
    ClockStep {
        /// What passed here between two keep-alives; or the lease of this process.
        local: Duration,
        /// What passed there, at the least; or for how long another process still has a lease.
        server: Duration,
    },
    /// An attempt to acquire a lease failed; it is made again.
    AttemptFailed {
        /// The name of the lease.
        name: LeaseName,
        /// What the backend said.
        error: String,
    },
    /// One of Simba's own actors was built anew.
    ActorRestarted {
        /// Which.
        actor: String,
    },
    /// This subscriber was too slow and missed the events before the next one.
    Missed {
        /// How many.
        count: u64,
    },
    /// Simba was closed; nothing follows.
    Closed,
}

impl actix::Message for SimbaEvent {
    type Result = ();
}

/// Yields the storage's warnings, then the events from the subscription on, and ends after
/// [`SimbaEvent::Closed`]; at once if that has passed.
///
/// A subscriber that is more than 1,024 events behind gets [`SimbaEvent::Missed`] in place of the oldest:
/// nobody waits for it.
///
/// # Examples
///
/// ```
/// use simba_actors::{Events, SimbaEvent};
///
/// async fn count_elections(mut events: Events) -> u64 {
///     let mut elected = 0;
///     while let Some(event) = events.next().await {
///         if let SimbaEvent::Elected { .. } = event {
///             elected += 1;
///         }
///     }
///     elected
/// }
/// ```
#[derive(Debug)]
#[must_use = "events that nobody takes are lost"]
pub struct Events {
    /// What was known before the subscription.
    first: VecDeque<SimbaEvent>,
    stream: BroadcastStream<SimbaEvent>,
    state: State,
}

#[derive(Debug, PartialEq)]
enum State {
    Open,
    Ended,
}

impl Events {
    /// Waits for the next event; `None` after the last.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<SimbaEvent> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for Events {
    type Item = SimbaEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SimbaEvent>> {
        if self.state == State::Ended {
            return Poll::Ready(None);
        }
        if let Some(event) = self.first.pop_front() {
            return Poll::Ready(Some(event));
        }
        let event = match ready!(Pin::new(&mut self.stream).poll_next(cx)) {
            Some(Ok(event)) => Some(event),
            Some(Err(BroadcastStreamRecvError::Lagged(count))) => Some(SimbaEvent::Missed { count }),
            None => None,
        };
        if matches!(event, None | Some(SimbaEvent::Closed)) {
            self.state = State::Ended;
        }
        Poll::Ready(event)
    }
}

/// Where events are published.
#[derive(Clone, Debug)]
pub(crate) struct EventBus {
    sender: broadcast::Sender<SimbaEvent>,
    /// True before [`SimbaEvent::Closed`] is sent: who subscribes too late for that is told so.
    closed: Arc<AtomicBool>,
    /// The storage's, once it is connected to.
    warnings: Arc<OnceLock<Vec<String>>>,
}

impl EventBus {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::Sender::new(CAPACITY), closed: Arc::default(), warnings: Arc::default() }
    }

    /// Says once what each subscriber is told first.
    pub(crate) fn warn_of(&self, storage: &dyn LeaseBackend) {
        // It is the same storage in each life of an actor.
        let _ = self.warnings.set(storage.warnings().to_vec());
    }

    /// Never waits. Without a subscriber it costs one look at their number.
    pub(crate) fn publish(&self, event: SimbaEvent) {
        if event == SimbaEvent::Closed {
            self.closed.store(true, Ordering::Release);
        }
        if self.sender.receiver_count() > 0 {
            // The last subscriber may have gone in between.
            let _ = self.sender.send(event);
        }
    }

    /// Publishes each further life of one of Simba's own actors.
    pub(crate) fn restarts(&self, actor: String) -> impl FnMut(Notice) + 'static {
        let bus = self.clone();
        move |notice| match notice {
            Notice::Restarted { panicked } => {
                error!(actor, panicked, "built anew");
                bus.publish(SimbaEvent::ActorRestarted { actor: actor.clone() });
            }
            Notice::Ended => {}
        }
    }

    pub(crate) fn subscribe(&self) -> Events {
        let stream = BroadcastStream::new(self.sender.subscribe());
        let state = if self.closed.load(Ordering::Acquire) { State::Ended } else { State::Open };
        let warnings = self.warnings.get().into_iter().flatten().cloned();
        let first = warnings.map(|message| SimbaEvent::StorageWarning { message }).collect();
        Events { first, stream, state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(failures: u32) -> SimbaEvent {
        SimbaEvent::RenewFailed { failures, error: String::new() }
    }

    #[tokio::test]
    async fn every_subscriber_gets_every_event_from_its_subscription_on() {
        let bus = EventBus::new();
        bus.publish(failed(1));
        let mut first = bus.subscribe();
        bus.publish(failed(2));
        let mut second = bus.subscribe();
        bus.publish(failed(3));
        assert_eq!(first.next().await, Some(failed(2)));
        assert_eq!(first.next().await, Some(failed(3)));
        assert_eq!(second.next().await, Some(failed(3)));
    }

    #[tokio::test]
    async fn a_slow_subscriber_hears_how_many_it_missed() {
        let bus = EventBus::new();
        let mut events = bus.subscribe();
        for failures in 0..1_034 {
            bus.publish(failed(failures));
        }
        assert_eq!(events.next().await, Some(SimbaEvent::Missed { count: 10 }));
        assert_eq!(events.next().await, Some(failed(10)));
    }

    #[tokio::test]
    async fn nothing_follows_closed() {
        let bus = EventBus::new();
        let mut events = bus.subscribe();
        bus.publish(SimbaEvent::Closed);
        bus.publish(SimbaEvent::Resumed);
        assert_eq!(events.next().await, Some(SimbaEvent::Closed));
        assert_eq!(events.next().await, None);
    }

    #[tokio::test]
    async fn who_subscribes_after_closed_waits_for_nothing() {
        let bus = EventBus::new();
        bus.publish(SimbaEvent::Closed);
        assert_eq!(bus.subscribe().next().await, None);
    }

    #[tokio::test]
    async fn events_end_with_the_bus() {
        let bus = EventBus::new();
        let mut events = bus.subscribe();
        bus.publish(SimbaEvent::Resumed);
        drop(bus);
        assert_eq!(events.next().await, Some(SimbaEvent::Resumed));
        assert_eq!(events.next().await, None);
        assert_eq!(events.next().await, None);
    }

    #[test]
    fn serialized_events_carry_their_name() {
        let (name, token) = ("job".parse().unwrap(), Token::new(7).unwrap());
        let revoked = SimbaEvent::Revoked { name, token, reason: Reason::LeaseLost };
        let text = serde_json::to_string(&revoked).unwrap();
        assert_eq!(text, r#"{"event":"revoked","name":"job","token":7,"reason":"lease_lost"}"#);
        assert_eq!(serde_json::to_string(&SimbaEvent::Closed).unwrap(), r#"{"event":"closed"}"#);
    }

    #[test]
    fn events_cross_threads() {
        fn crosses<T: Send + 'static>() {}
        crosses::<(SimbaEvent, Events, EventBus)>();
    }
}
