//! Redis loses data, and with it tokens: who knows a higher one is told before the next term.

use std::time::Duration;

use simba_processes::now;

use crate::{
    crew::{Crew, Line},
    scene::{ELECTION, LEASE, RENEW, within},
    scratch::Scratch,
    storage::{Storage, on},
    testimony::Testimony,
};

on!([redis, redis_cluster][everything_is_deleted_under_a_leader]);

on!([redis_sentinel][a_token_that_no_replica_has_is_given_again]);

/// Processes each of which has been the leader, so that it knows a token.
struct Cast {
    scratch: Scratch,
    crew: Crew,
    leader: Line,
}

impl Cast {
    async fn of(count: usize, url: &str) -> Self {
        let scratch = Scratch::new();
        let mut crew = Crew::of_workers(&scratch, LEASE);
        let first = crew.join(url, &["lead"]).await;
        let leader = crew.hears(first, "elected").await;
        let mut cast = Self { scratch, crew, leader };
        for _ in 1..count {
            let pid = cast.crew.join(url, &["lead"]).await;
            cast.crew.hears(pid, "contends").await;
            // Nobody else waits: those before it have stopped.
            cast.hands_over().await;
            assert_eq!(cast.leader.pid, pid);
        }
        for pid in cast.crew.pids() {
            if pid != cast.leader.pid {
                cast.crew.tell(pid, "lead").await;
                cast.crew.hears(pid, "contends").await;
            }
        }
        cast
    }

    /// The leader stops, and does not contend again.
    async fn hands_over(&mut self) {
        let leader = self.leader.pid;
        self.crew.tell(leader, "stop").await;
        self.leader = self.crew.line(|line| line.pid != leader && is_elected(line)).await;
    }

    fn token(&self) -> u64 {
        self.leader.number_after("elected")
    }

    /// Waits for the first term after that time, whoever has it, and checks what its process was told before.
    async fn next(&mut self, since: Duration) {
        let is_next = |line: &Line| line.at > since && is_elected(line);
        self.leader = self.crew.finds(is_next).await;
        let (pid, token) = (self.leader.pid, self.token());
        let start = format!("event Elected {{ name: \"leader\", token: {token} }}");
        let is_event = |line: &Line| line.at > since && line.pid == pid && line.text.starts_with(&start);
        self.crew.finds(is_event).await;
        let said = self.crew.heard().iter().filter(|line| line.at > since && line.pid == pid);
        let told = said
            .take_while(|line| !is_event(line))
            .find(|line| line.text.starts_with("event TokenRegressed"));
        let told = told.unwrap_or_else(|| panic!("nobody told {pid} that tokens went back"));
        println!("{}; {}", told.text, self.leader.text);
    }
}

fn is_elected(line: &Line) -> bool {
    line.text.starts_with("elected")
}

async fn everything_is_deleted_under_a_leader(storage: Storage) {
    let mut cast = Cast::of(5, &storage.url()).await;
    let (leader, known) = (cast.leader.clone(), cast.token());
    let deleted = now();
    match &storage {
        Storage::Cluster(servers) => {
            for node in &servers.nodes()[..3] {
                node.execute(&["FLUSHALL"]).await.unwrap();
            }
        }
        Storage::Sqlite(_)
        | Storage::Postgres(_)
        | Storage::MySql(_)
        | Storage::Redis(_)
        | Storage::Sentinels(_)
        | Storage::ZooKeeper(_)
        | Storage::Ensemble(_) => storage.order(&["FLUSHALL"]).await,
    }
    let revoked = cast.crew.hears(leader.pid, &format!("revoked {known}")).await;
    within(RENEW, revoked.at - deleted, "FLUSHALL -> revoked");
    // It may have been elected before the other was told: what was lost cannot keep it out.
    cast.next(deleted).await;
    within(RENEW * 2, cast.leader.at - deleted, "FLUSHALL -> elected");
    assert!(cast.token() <= known);
    cast.crew.close().await;
}

/// Without `wait_replicas`.
async fn a_token_that_no_replica_has_is_given_again(storage: Storage) {
    let sentinels = storage.sentinels();
    let mut cast = Cast::of(3, sentinels.url()).await;
    let primary = sentinels.primary();
    primary.refuse_replicas().await.unwrap();
    // Two terms that only the primary knows of.
    for _ in 0..2 {
        let leader = cast.leader.pid;
        cast.hands_over().await;
        cast.crew.tell(leader, "lead").await;
        cast.crew.hears(leader, "contends").await;
    }
    let known = cast.token();
    primary.kill().await.unwrap();
    let killed = now();
    sentinels.wait_for_failover_of(primary).await;
    let replaced = now();
    println!("SIGKILL of the primary -> replaced: {} ms", (replaced - killed).as_millis());
    cast.next(killed).await;
    within(ELECTION, cast.leader.at.saturating_sub(replaced), "primary replaced -> elected");
    assert!(cast.token() <= known);
    cast.crew.close().await;
    Testimony::of(&cast.scratch).check_alternation();
}
