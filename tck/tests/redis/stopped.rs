//! Clients that are stopped where they stand.

use std::time::Duration;

use simba_tck::{Contest, Fixture};
use tokio::time::{sleep, timeout};

use crate::{
    Storage,
    peer::{Peer, names, now},
};

const LEASE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_candidate_stopped_200_times_in_big_batches_delays_no_keep_alive() {
    let server = Storage::fresh().await;
    let holder = Peer::open(server.connect().await, LEASE).await;
    let all = names(&"n".repeat(100), 1000);
    holder.acquire_all(&all[..3]).await;
    let mut rivals = [
        server.rival(&all, Contest::Free).await.unwrap(),
        server.rival(&all[..900], Contest::Held).await.unwrap(),
    ];
    let mut longest = Duration::ZERO;
    for round in 0..200_u32 {
        // Multiples of a prime reach every phase of the rivals' loops.
        sleep(Duration::from_micros(u64::from(round * 7919 % 20_011))).await;
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
