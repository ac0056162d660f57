//! When the session is certain to have been heard of, and what follows from it.

use std::{collections::VecDeque, time::Duration};

/// The calls of a session that were answered, by when they were sent.
///
/// Each of them has renewed the session at the server that it was sent to. What counts is when the ensemble's leader
/// renews it: that server tells it together with its next answer to the leader's ping, of which there are two a tick,
/// and a session lasts two ticks at least. So whatever was sent a quarter of the session's time-out before a call
/// that went through the leader has renewed the session there, when that call is answered.
#[derive(Debug)]
pub(super) struct Touches {
    timeout: Duration,
    sent: VecDeque<Duration>,
    /// The newest that is certain.
    certain: Duration,
}

impl Touches {
    /// Of a session that was asked for then, with that time-out: the leader made it itself.
    pub(super) fn new(opened: Duration, timeout: Duration) -> Self {
        Self { timeout, sent: VecDeque::new(), certain: opened }
    }

    /// A call that was sent then has been answered.
    pub(super) fn answered(&mut self, sent: Duration) {
        // In order and no closer than this they are few.
        let least = self.timeout / 64;
        if self.sent.back().is_none_or(|last| sent >= *last + least) {
            self.sent.push_back(sent);
        }
    }

    /// A call that was sent then has been answered, by way of the leader. Until when the session lives, at least.
    pub(super) fn confirmed(&mut self, sent: Duration) -> Duration {
        let relayed = sent.saturating_sub(self.timeout / 4);
        while let Some(certain) = self.sent.pop_front_if(|touch| *touch <= relayed) {
            // One that was answered late may come after a later one.
            self.certain = self.certain.max(certain);
        }
        self.certain + self.timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn an_answer_vouches_for_what_was_sent_a_quarter_of_the_time_out_before() {
        let mut touches = Touches::new(at(1000), at(4000));
        assert_eq!(touches.confirmed(at(1000)), at(5000));
        touches.answered(at(2000));
        assert_eq!(touches.confirmed(at(2999)), at(5000), "the leader may not have heard of it");
        assert_eq!(touches.confirmed(at(3000)), at(6000));
        touches.answered(at(3000));
        touches.answered(at(4000));
        assert_eq!(touches.confirmed(at(6000)), at(8000), "the newest counts");
        assert_eq!(touches.confirmed(at(4000)), at(8000), "what is certain stays so");
        touches.answered(at(3500));
        assert_eq!(touches.confirmed(at(6000)), at(8000), "also when an older one is answered late");
    }

    #[test]
    fn few_are_remembered() {
        let mut touches = Touches::new(at(0), at(4000));
        (0..100_000).for_each(|millis| touches.answered(at(millis % 4000)));
        assert!(touches.sent.len() <= 64, "{}", touches.sent.len());
    }
}
