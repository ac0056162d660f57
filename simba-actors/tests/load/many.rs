//! Ten thousand elections in one process.

use std::{sync::Arc, time::Duration};

use actix::{Actor, Context, Handler, System};
use rustix::time::{ClockId, clock_gettime};
use simba_actors::{Elected, Revoked, Simba, SimbaConfig};
use tokio::time::sleep;

use crate::{
    alone,
    fixture::{FaultyBackend, MS, Op, eventually, now, seconds},
};

const ELECTIONS: usize = 10_000;

struct Leads(Arc<std::sync::atomic::AtomicUsize>);

impl Actor for Leads {
    type Context = Context<Self>;
}

impl Handler<Elected> for Leads {
    type Result = ();
    fn handle(&mut self, _: Elected, _: &mut Context<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Handler<Revoked> for Leads {
    type Result = ();
    fn handle(&mut self, _: Revoked, _: &mut Context<Self>) {}
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap())
}

/// Bytes in memory, as Linux counts them; elsewhere nothing is said about them.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

#[test]
fn ten_thousand_elections_are_cheap() {
    let _alone = alone();
    System::new().block_on(async {
        let backend = FaultyBackend::new();
        let config = SimbaConfig::builder().lease(seconds(15)).build().unwrap();
        let builder = Simba::builder().backend(Arc::new(backend.clone())).config(config);
        let simba = builder.connect().await.unwrap();
        let elected = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let (memory, started) = (resident(), now());
        let mut elections = Vec::with_capacity(ELECTIONS);
        for n in 0..ELECTIONS {
            let leader = Leads(elected.clone()).start();
            let election = simba.election(format!("election-{n}")).unwrap().start(&leader).await.unwrap();
            elections.push((election, leader));
        }
        let all = || elected.load(std::sync::atomic::Ordering::Relaxed) == ELECTIONS;
        eventually("all are elected", seconds(60), all).await;
        let (took, grown) = (started.elapsed(), resident().saturating_sub(memory));
        sleep(seconds(1)).await;
        let (cpu_before, idle_since, calls) = (cpu(), now(), backend.count(Op::KeepAlive));
        sleep(seconds(20)).await;
        let (used, idle) = (cpu() - cpu_before, idle_since.elapsed());
        let (calls, share) = (backend.count(Op::KeepAlive) - calls, used.as_secs_f64() / idle.as_secs_f64());
        println!("elected in {took:?}, {} MB, {calls} keep-alives in {idle:?}", grown >> 20);
        println!("{:.2} % of a core when idle", share * 100.0);
        assert!(took < seconds(5), "elected in {took:?}");
        assert!(grown < 100 << 20, "{grown} bytes");
        assert!((3..=5).contains(&calls), "{calls} keep-alives in four renews");
        assert!(share < 0.03, "{share} of a core when idle");
        assert!(elections.iter().all(|(election, _)| election.term().is_some_and(|term| term.is_valid())));
        let closing = now();
        simba.close().await.unwrap();
        println!("closed in {:?}", closing.elapsed());
        sleep(MS).await;
    });
}
