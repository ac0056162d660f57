//! Two hundred candidates of one lock: few of them ask when it is released.

use std::time::Duration;

use simba_processes::now;
use simba_servers::Redis;
use tokio::time::sleep;

use crate::{crew::Crew, scratch::Scratch, storage::Storage};

/// So long that nothing has a pace of its own while the test runs.
const LEASE: Duration = Duration::from_secs(600);
const PROCESSES: usize = 20;
const WARM_UP: usize = 3;
const MEASURED: usize = 4;
const SECOND: Duration = Duration::from_secs(1);

/// On a quiet machine 300 ms and 40; twice that on any other.
const WINNER: Duration = Duration::from_millis(600);
const CALLS: u64 = 80;

#[tokio::test]
async fn redis_of_two_hundred_candidates_few_ask_when_the_lock_is_released() {
    let storage = Storage::redis().await;
    let Storage::Redis(server) = &storage else { unreachable!("it is Redis") };
    if !storage.is_ours() {
        return;
    }
    let scratch = Scratch::new();
    let mut crew = Crew::of_workers(&scratch, LEASE);
    for _ in 0..PROCESSES {
        let pid = crew.join(&storage.url(), &["crowd"]).await;
        crew.hears(pid, "gathered").await;
    }
    let heard = crew.heard().iter().find(|line| line.text.starts_with("won"));
    let mut holder = heard.expect("one has it").pid;
    // Until all others wait.
    sleep(SECOND).await;
    for round in 0..WARM_UP + MEASURED {
        let (before, released) = (scripts(server).await, now());
        crew.tell(holder, "yield").await;
        let winner = crew.line(|line| line.text.starts_with("won")).await;
        sleep((released + SECOND).saturating_sub(now())).await;
        // The release is one of them.
        let calls = scripts(server).await - before - 1;
        let after = winner.at - released;
        println!("released -> acquired by another: {} ms; {calls} acquires in a second", after.as_millis());
        if round >= WARM_UP {
            assert!(after < WINNER, "{after:?}");
            assert!(calls <= CALLS, "{calls}");
        }
        holder = winner.pid;
        sleep(SECOND).await;
    }
    for pid in crew.pids() {
        crew.kill(pid).await;
    }
}

/// How many scripts were run: of what the workers do, only acquire and release are such here.
async fn scripts(server: &Redis) -> u64 {
    let statistics = server.execute(&["INFO", "commandstats"]).await.unwrap();
    let text = format!("{statistics:?}");
    let calls = text.split("cmdstat_evalsha:calls=").nth(1).and_then(|rest| rest.split(',').next());
    calls.map_or(0, |calls| calls.parse().expect("a number of calls"))
}
