//! Rounds of questions about the map.
//!
//! Each failing call wants a round that begins after its failure; one at a time is under way, and the next waits
//! for [`INTERVAL`]. All nodes are asked at once, and each answer is offered to the table when it comes, also after
//! its round: a frozen node holds up nobody, a distant one is heard all the same.
//!
//! `CLUSTER SLOTS` has no date, so a node that has not heard of a fail-over may answer first, with the map of
//! yesterday. Three things keep that from lasting. A node that is cut off from most others says so after its node
//! timeout (`cluster_state:fail`), just when it begins to refuse calls: its map counts only while there is no
//! other. A map from an older epoch than ours does not count. And within the node timeout, when neither is
//! seen, the cut-off node still serves its calls, so that no call fails; once one does, there is another round.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{mpsc, watch},
    time::{sleep, timeout},
};

use super::{
    Shared,
    member::Member,
    report::Report,
    table::{Offer, Table},
};

/// From a round's end to the next one's begin.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long a round goes on for a newer map when it has one.
const GRACE: Duration = Duration::from_millis(20);
/// How long a round goes on when all that has answered takes no part in the cluster.
const PATIENCE: Duration = Duration::from_millis(100);
/// How many nodes a round asks; the next one begins with others.
const ASKED: usize = 16;

/// Counts the rounds.
#[derive(Default)]
pub(super) struct Rounds {
    count: Mutex<Count>,
    ended: watch::Sender<u64>,
}

#[derive(Default)]
struct Count {
    wanted: u64,
    begun: u64,
    task: Task,
}

/// Whether a task sees to the rounds.
#[derive(Default, PartialEq, Eq)]
enum Task {
    #[default]
    None,
    Running,
}

impl Rounds {
    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Has the map asked for in the background, and gives the number of the round that does.
    pub(super) fn want_map(self: &Arc<Self>) -> u64 {
        let mut count = self.rounds.count();
        count.wanted = count.begun + 1;
        if count.task == Task::None {
            count.task = Task::Running;
            tokio::spawn(see_to_rounds(Duty { shared: Arc::clone(self), task: Task::Running }));
        }
        count.wanted
    }

    /// Waits for a round that begins after now. Whoever calls keeps the time.
    ///
    /// # Cancel safety
    /// The round goes on.
    pub(super) async fn fresh_map(self: &Arc<Self>) {
        let mut ended = self.rounds.ended.subscribe();
        let wanted = self.want_map();
        ended.wait_for(|ended| *ended >= wanted).await.expect("the sender is in self");
    }
}

/// What the task has to do. The next one may begin when it goes, also when it goes with its runtime.
struct Duty {
    shared: Arc<Shared>,
    task: Task,
}

impl Duty {
    /// The number of the next round; without one the duty is over.
    fn next(&mut self) -> Option<u64> {
        let mut count = self.shared.rounds.count();
        if count.begun == count.wanted {
            count.task = Task::None;
            self.task = Task::None;
            return None;
        }
        count.begun += 1;
        Some(count.begun)
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        // Once it is over, another task may be running.
        if self.task == Task::Running {
            let mut count = self.shared.rounds.count();
            count.task = Task::None;
            // There will be no answers. Whoever waits goes on with what is known.
            count.begun = count.wanted;
            self.shared.rounds.ended.send_replace(count.begun);
        }
    }
}

async fn see_to_rounds(mut duty: Duty) {
    while let Some(number) = duty.next() {
        round(&duty.shared, number).await;
        duty.shared.rounds.ended.send_replace(number);
        sleep(INTERVAL).await;
    }
}

/// What the answers of a round have come to.
#[derive(Default)]
struct Heard {
    taken: bool,
    older: Option<Report>,
    refusing: Option<Report>,
}

async fn round(shared: &Arc<Shared>, number: u64) {
    let mut offers = ask(shared, number);
    let known = !shared.table().is_empty();
    let mut heard = Heard::default();
    while let Ok(Some(offer)) = timeout(heard.patience(known), offers.recv()).await {
        match offer {
            Offer::Taken => heard.taken = true,
            Offer::Older(report) => heard.older = newest(heard.older, report),
            Offer::Refusing(report) => heard.refusing = newest(heard.refusing, report),
        }
    }
    if heard.taken {
        return;
    }
    let mut table = shared.table_mut();
    let refusing = heard.refusing.filter(|_| table.is_empty());
    if let Some(report) = heard.older.or(refusing) {
        table.take(report);
    }
}

impl Heard {
    fn patience(&self, known: bool) -> Duration {
        if self.taken {
            GRACE
        } else if known && self.refusing.is_some() {
            PATIENCE
        } else {
            // Each question has its own limit.
            Duration::MAX
        }
    }
}

fn newest(one: Option<Report>, other: Report) -> Option<Report> {
    match one {
        Some(one) if one.epoch >= other.epoch => Some(one),
        _ => Some(other),
    }
}

/// Asks nodes in tasks of their own: a question that is given up costs the node's connection.
fn ask(shared: &Arc<Shared>, number: u64) -> mpsc::UnboundedReceiver<Offer> {
    let (offers, received) = mpsc::unbounded_channel();
    for member in whom(&shared.table(), number) {
        let (shared, offers) = (Arc::clone(shared), offers.clone());
        tokio::spawn(async move {
            let Some(_question) = member.question() else { return };
            match Report::of(&member).await {
                Ok(report) => {
                    let offer = shared.table_mut().offer(report);
                    // The round may be over.
                    let _ = offers.send(offer);
                }
                Err(error) => shared.refused(error),
            }
        });
    }
    received
}

fn whom(table: &Table, number: u64) -> Vec<Arc<Member>> {
    let members: Vec<_> = table.members().cloned().collect();
    let places = u64::try_from(members.len().max(1)).unwrap_or(u64::MAX);
    let first = usize::try_from(number % places).unwrap_or_default();
    let asked = members.len().min(ASKED);
    members.into_iter().cycle().skip(first).take(asked).collect()
}
