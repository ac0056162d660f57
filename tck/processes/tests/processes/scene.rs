//! Workers on one storage, each of which leads, writes to the fence and adds to the counter; and what all of
//! them have shown in the end.

use std::time::Duration;

use simba_processes::{Counter, Fence, Verdict, Write, now};
use tokio::time::sleep;

use crate::{
    crew::Crew,
    scratch::Scratch,
    testimony::{Leading, Testimony},
};

pub(crate) const LEASE: Duration = Duration::from_secs(3);
/// What follows from it: a third. No call takes longer.
pub(crate) const RENEW: Duration = Duration::from_secs(1);

/// How long a name may be without a leader when its leader is gone and the storage is there:
/// lease + renew / 2 + jitter, which is renew / 2 as well.
pub(crate) const ELECTION: Duration = Duration::from_secs(4);

/// What a loaded machine may take on top.
const MACHINE: Duration = Duration::from_secs(2);
/// Whoever waits for more is stuck.
const STUCK: Duration = Duration::from_secs(30);
const GLANCE: Duration = Duration::from_millis(50);

/// Prints what was measured, and checks it.
pub(crate) fn within(limit: Duration, figure: Duration, what: &str) {
    println!("{what}: {} ms of {} ms", figure.as_millis(), limit.as_millis());
    assert!(figure <= limit + MACHINE, "{what}: {figure:?} of {limit:?}");
}

pub(crate) struct Scene {
    pub(crate) crew: Crew,
    pub(crate) scratch: Scratch,
}

impl Scene {
    pub(crate) fn new(lease: Duration) -> Self {
        let scratch = Scratch::new();
        Self { crew: Crew::of_workers(&scratch, lease), scratch }
    }

    /// So many workers with that URL, one of which leads.
    pub(crate) async fn of(count: usize, url: &str) -> Self {
        let mut scene = Self::new(LEASE);
        for _ in 0..count {
            scene.join(url).await;
        }
        scene.leads(Duration::ZERO).await;
        scene
    }

    /// One more. Not before it contends: a process that is killed too early proves nothing.
    pub(crate) async fn join(&mut self, url: &str) -> u32 {
        let pid = self.crew.start(url);
        self.obeys(pid).await;
        pid
    }

    /// Tells one that was started what to do.
    pub(crate) async fn obeys(&mut self, pid: u32) {
        self.crew.hears(pid, "ready").await;
        for order in ["lead", "pump", "count"] {
            self.crew.tell(pid, order).await;
        }
        self.crew.hears(pid, "contends").await;
    }

    /// Waits until what runs was renewed, and tells who leads: a new term ends more easily than an old one.
    pub(crate) async fn settled(&self) -> Leading {
        sleep(RENEW * 3 / 2).await;
        self.leads(now()).await
    }

    /// Waits for a term that was valid at that time or later.
    pub(crate) async fn leads(&self, since: Duration) -> Leading {
        self.leads_above(0, since).await
    }

    /// Waits for a term with a higher token that was valid at that time or later.
    pub(crate) async fn leads_above(&self, token: u64, since: Duration) -> Leading {
        let end = now() + STUCK;
        loop {
            if let Some(leading) = Testimony::of(&self.scratch).leading(token, since) {
                return leading;
            }
            assert!(now() < end, "nobody leads with a token above {token}");
            sleep(GLANCE).await;
        }
    }

    /// Waits until the counter has gone on.
    pub(crate) async fn counts(&self) {
        let (before, end) = (self.counted().await, now() + STUCK);
        while self.counted().await == before {
            assert!(now() < end, "nobody gets the lock");
            sleep(GLANCE).await;
        }
    }

    async fn counted(&self) -> i64 {
        Counter::open(self.scratch.directory()).await.unwrap().tally().await.unwrap().value
    }

    /// The longest time without an increment since then.
    pub(crate) async fn longest_pause(&self, since: Duration) -> Duration {
        let tally = Counter::open(self.scratch.directory()).await.unwrap().tally().await.unwrap();
        let later = tally.times.into_iter().filter(|at| *at >= since);
        let times: Vec<_> = std::iter::once(since).chain(later).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).max().expect("the counter went on")
    }

    /// Ends everybody in good order, and checks what they left. Answers the highest token.
    pub(crate) async fn close(mut self) -> u64 {
        self.crew.close().await;
        let terms = Testimony::of(&self.scratch).check();
        let writes = Fence::open(self.scratch.directory()).await.unwrap().writes().await.unwrap();
        let highest = check_fence(&writes);
        let refused = writes.iter().filter(|write| write.verdict == Verdict::Refused).count();
        let tally = Counter::open(self.scratch.directory()).await.unwrap().tally().await.unwrap();
        println!(
            "{terms} terms, {} writes, {refused} of them fenced off, highest token {highest}, {} increments",
            writes.len(),
            tally.value
        );
        let expected: Vec<i64> = (1..=tally.value).collect();
        assert_eq!(tally.increments, expected, "an increment was lost");
        assert!(terms >= 1 && !writes.is_empty(), "nothing was proved");
        highest
    }
}

/// No accepted token is lower than one before, and none that would have been fine was refused.
fn check_fence(writes: &[Write]) -> u64 {
    let mut highest = 0;
    for write in writes {
        match write.verdict {
            Verdict::Accepted => {
                assert!(write.token >= highest, "{write:?} was accepted after {highest}");
                highest = write.token;
            }
            Verdict::Refused => assert!(write.token < highest, "{write:?} was refused after {highest}"),
        }
    }
    highest
}
