//! A process that is stopped in the middle of what it does.

use std::time::Duration;

use simba_backends::LeaseName;
use simba_tck::{Contest, Fixture};
use tokio::time::{sleep, timeout};

use crate::{
    fixture::{Direct, Server},
    peer::{Peer, name, now},
};

const LEASE: Duration = Duration::from_secs(2);

/// Long names, so that the server cannot send its answer to somebody who does not read.
fn long_names(count: usize) -> Vec<LeaseName> {
    (0..count).map(|number| name(format!("{number:0128}"))).collect()
}

/// It acquires and releases a thousand names, of which the holder has a few and dead sessions have many.
#[tokio::test]
async fn a_candidate_stopped_200_times_in_big_batches_delays_no_keep_alive() {
    let server = Server::<Direct>::fresh().await;
    let holder = Peer::open(server.connect().await, LEASE).await;
    let all = long_names(1000);
    holder.acquire_all(&all[..3]).await;
    let mut rivals = [
        server.rival(&all, Contest::Free).await.unwrap(),
        server.rival(&all[..900], Contest::Held).await.unwrap(),
    ];
    let mut longest = Duration::ZERO;
    let mut dies = Vec::new();
    for round in 0..200_u32 {
        // Multiples of a prime reach every phase of the rivals' loops.
        sleep(Duration::from_micros(u64::from(round * 7919 % 40_009))).await;
        if round % 20 == 0 {
            let dead = Peer::open(holder.backend.clone(), Duration::from_millis(100)).await;
            timeout(LEASE, dead.backend.acquire(&dead.session, &all[500..600])).await.unwrap().unwrap();
            dies.push(dead);
        }
        for rival in &mut rivals {
            rival.stop().await;
        }
        let begun = now();
        let owned = timeout(LEASE, holder.owned()).await.expect("a stopped client is in the way");
        longest = longest.max(begun.elapsed());
        for rival in &mut rivals {
            rival.resume().await;
        }
        assert_eq!(owned.expect("it is kept alive").len(), 3, "round {round}");
    }
    println!("longest of 200 keep-alives beside stopped clients: {longest:?}");
    for rival in &mut rivals {
        rival.kill().await;
    }
}
