//! One session's subscription to what is freed.
//!
//! An expiry is not told: `free_in` told of it. Nor are changes of a group's members.

use std::{
    collections::{BTreeSet, VecDeque},
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use tokio_stream::wrappers::BroadcastStream;

use super::{PostgresBackend, listen::News};
use crate::{Hint, HintSource, LeaseName};

pub(super) struct PostgresHints {
    state: State,
    wanted: BTreeSet<LeaseName>,
    news: BroadcastStream<News>,
    due: VecDeque<Hint>,
    /// Keeps the sender of the news alive, so that they never end.
    backend: PostgresBackend,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not polled yet: only a poll is certain to happen on a runtime.
    Idle,
    Listening,
}

impl PostgresHints {
    pub(super) fn new(backend: &PostgresBackend) -> Self {
        Self {
            state: State::Idle,
            wanted: BTreeSet::new(),
            news: BroadcastStream::new(backend.shared.listening.subscribe()),
            due: VecDeque::new(),
            backend: backend.clone(),
        }
    }
}

impl HintSource for PostgresHints {
    fn want(&mut self, name: &LeaseName) {
        self.wanted.insert(name.clone());
    }

    fn unwant(&mut self, name: &LeaseName) {
        self.wanted.remove(name);
        self.due.retain(|hint| !matches!(hint, Hint::Released { name: due, .. } if due == name));
    }
}

impl Stream for PostgresHints {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        if self.state == State::Idle {
            self.state = State::Listening;
            self.backend.shared.listening.start(&self.backend);
        }
        loop {
            if let Some(hint) = self.due.pop_front() {
                return Poll::Ready(Some(hint));
            }
            match ready!(Pin::new(&mut self.news).poll_next(cx)) {
                Some(Ok(News::Freed(names))) => {
                    let wanted = names.iter().filter(|name| self.wanted.contains(*name));
                    let hints: Vec<_> =
                        wanted.map(|name| Hint::Released { name: name.clone(), waiters: None }).collect();
                    self.due.extend(hints);
                }
                Some(Ok(News::Ended)) => {
                    self.backend.shared.listening.start(&self.backend);
                    return Poll::Ready(Some(Hint::Gap));
                }
                // An error says that the source lagged behind.
                Some(Ok(News::Gap) | Err(_)) => return Poll::Ready(Some(Hint::Gap)),
                None => return Poll::Ready(None),
            }
        }
    }
}
