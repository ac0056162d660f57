//! The example itself: how long until another process leads.

use std::time::Duration;

use rustix::process::Signal;
use simba_processes::now;
use tokio::time::sleep;

use crate::{
    crew::{Crew, Line},
    figures::Figures,
    hand_over::assert_hinted,
    scene::LEASE,
    storage::{Storage, on},
};

const AFTER_A_KILL: Duration = Duration::from_secs(4);
const AFTER_CTRL_C: Duration = Duration::from_millis(300);

struct Race {
    crew: Crew,
    url: String,
    leader: Line,
}

impl Race {
    async fn of(count: usize, storage: &Storage) -> Self {
        let (mut crew, url) = (Crew::of_failover(LEASE), storage.url());
        crew.start(&url);
        let leader = crew.line(is_elected).await;
        let mut race = Self { crew, url, leader };
        for _ in 1..count {
            race.join().await;
        }
        race
    }

    /// One more candidate, which knows who leads.
    async fn join(&mut self) {
        let pid = self.crew.start(&self.url);
        let leader = format!("pid={} ", self.leader.pid);
        self.crew.line(|line| line.pid == pid && line.text.contains(&leader)).await;
    }

    /// Ends the leader, and tells how long until the next is elected.
    async fn end_leader(&mut self, signal: Signal) -> Duration {
        let (old, sent) = (self.leader.clone(), now());
        self.crew.signal(old.pid, signal);
        self.leader = self.crew.line(|line| is_elected(line) && line.pid != old.pid).await;
        assert!(token(&self.leader) > token(&old), "{:?} after {old:?}", self.leader);
        let status = self.crew.ended(old.pid).await;
        assert_eq!(status.code(), (signal == Signal::INT || signal == Signal::TERM).then_some(0));
        self.leader.at - sent
    }

    async fn measure(&mut self, signal: Signal, rounds: u32) -> Figures {
        let mut figures = Figures::default();
        for round in 0..rounds {
            // Not in step with the keep-alives.
            sleep(Duration::from_millis(u64::from(100 + round * 397 % 1000))).await;
            figures.add(self.end_leader(signal).await);
            self.join().await;
        }
        figures
    }
}

fn is_elected(line: &Line) -> bool {
    line.text.starts_with("ELECTED")
}

fn token(line: &Line) -> u64 {
    line.number_after("token")
}

on!([sqlite] [
    of_two_processes_the_other_leads_within_a_lease_and_a_second_of_a_kill,
    of_five_processes_one_leads_within_a_lease_and_a_second_of_a_kill,
    of_two_processes_the_other_leads_within_300_ms_of_ctrl_c,
    of_five_processes_one_leads_within_300_ms_of_ctrl_c,
]);

on!([postgres, mysql, mariadb, redis, redis_cluster, zookeeper_ensemble]
    [a_process_that_is_told_to_end_hands_over_at_once]);

async fn a_process_that_is_told_to_end_hands_over_at_once(storage: Storage) {
    let mut race = Race::of(2, &storage).await;
    let interrupted = race.measure(Signal::INT, 6).await;
    let terminated = race.measure(Signal::TERM, 4).await;
    println!("Ctrl-C of the leader -> elected: {interrupted}; SIGTERM: {terminated}");
    assert_hinted(&interrupted);
    assert_hinted(&terminated);
}

async fn after_a_kill_the_next_leads_within_a_lease_and_a_second(count: usize, storage: &Storage) {
    let figures = Race::of(count, storage).await.measure(Signal::KILL, 6).await;
    println!("{count} processes, SIGKILL of the leader -> elected: {figures}");
    assert!(figures.max() <= AFTER_A_KILL, "{figures}");
}

async fn after_ctrl_c_the_next_leads_within_300_ms(count: usize, storage: &Storage) {
    let mut race = Race::of(count, storage).await;
    let interrupted = race.measure(Signal::INT, 12).await;
    let terminated = race.measure(Signal::TERM, 4).await;
    println!("{count} processes, Ctrl-C of the leader -> elected: {interrupted}; SIGTERM: {terminated}");
    assert!(interrupted.max() <= AFTER_CTRL_C, "{interrupted}");
    assert!(terminated.max() <= AFTER_CTRL_C, "{terminated}");
}

async fn of_two_processes_the_other_leads_within_a_lease_and_a_second_of_a_kill(storage: Storage) {
    after_a_kill_the_next_leads_within_a_lease_and_a_second(2, &storage).await;
}

async fn of_five_processes_one_leads_within_a_lease_and_a_second_of_a_kill(storage: Storage) {
    after_a_kill_the_next_leads_within_a_lease_and_a_second(5, &storage).await;
}

async fn of_two_processes_the_other_leads_within_300_ms_of_ctrl_c(storage: Storage) {
    after_ctrl_c_the_next_leads_within_300_ms(2, &storage).await;
}

async fn of_five_processes_one_leads_within_300_ms_of_ctrl_c(storage: Storage) {
    after_ctrl_c_the_next_leads_within_300_ms(5, &storage).await;
}
