//! Requests to end a term, and who waits until that is done.

use std::collections::VecDeque;

/// What was asked by [`Release`](super::Release) or [`StandDown`](super::StandDown) of one name.
///
/// News are on their way while a request is, and they cross: only what comes after
/// [`Heard`](super::LeaseNews::Heard) is an answer to it.
///
/// ```text
///   child    Release(1) ─┐            ┌─► Settled, of an earlier request ┌─► Heard(1) ── Settled
///   engine               └────────────┼──────────────────────────────────┘
/// ```
pub(crate) struct Requests<T> {
    /// In the order in which they were sent; without a value, nobody waits.
    asked: VecDeque<Option<T>>,
    heard: Vec<T>,
}

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Self { asked: VecDeque::new(), heard: Vec::new() }
    }
}

impl<T> Requests<T> {
    /// One more was sent.
    pub(crate) fn ask(&mut self, waiter: Option<T>) {
        self.asked.push_back(waiter);
    }

    /// The first of those on their way has arrived.
    pub(crate) fn heard(&mut self) {
        self.heard.extend(self.asked.pop_front().flatten());
    }

    /// Whether news can be older than a request.
    pub(crate) fn on_their_way(&self) -> bool {
        !self.asked.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.heard.is_empty()
    }

    /// Takes those that were heard of, because nothing of the name is left.
    pub(crate) fn settled(&mut self) -> Vec<T> {
        std::mem::take(&mut self.heard)
    }

    /// Takes all, because no more answers will come.
    pub(crate) fn drain(&mut self) -> Vec<T> {
        let asked = std::mem::take(&mut self.asked);
        let mut all = self.settled();
        all.extend(asked.into_iter().flatten());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_that_did_not_know_of_a_request_settle_the_earlier_ones_only() {
        let mut requests = Requests::default();
        requests.ask(Some("first"));
        requests.ask(None);
        requests.ask(Some("second"));
        requests.heard();
        assert_eq!(requests.settled(), ["first"]);
        requests.heard();
        assert_eq!(requests.settled(), [""; 0]);
        assert!(requests.on_their_way());
        requests.heard();
        assert!(!requests.on_their_way() && !requests.is_empty());
        assert_eq!(requests.settled(), ["second"]);
        assert!(requests.is_empty());
    }

    #[test]
    fn the_end_takes_all() {
        let mut requests = Requests::default();
        requests.ask(Some(1));
        requests.heard();
        requests.ask(Some(2));
        assert_eq!(requests.drain(), [1, 2]);
        assert!(requests.is_empty());
    }
}
