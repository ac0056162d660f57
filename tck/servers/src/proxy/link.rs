//! One connection through a proxy.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::mpsc,
    time::{Instant, sleep, sleep_until},
};

use super::{
    Patience, Way,
    condition::{Condition, LostReply},
    end_by_reset, end_in_order,
};

/// Chunks under way in each direction; whoever sends more is made to wait, as by any network.
const UNDER_WAY: usize = 256;

/// Between two looks whether the server listens.
const PAUSE: Duration = Duration::from_millis(10);

const CHUNK: usize = 16 * 1024;

/// Bytes, and when they arrived here.
type Chunk = (Instant, Vec<u8>);

struct Link {
    way: Arc<Way>,
    /// Whether the server has said something since the client began to send.
    answered: AtomicBool,
}

/// A reply was lost, and the client is to be cut off.
struct CutOff;

/// Carries what both sides say until both have ended. Dropped, it ends by RST on both sides.
pub(super) async fn run(way: Arc<Way>, mut client: TcpStream) {
    way.pass(now()).await;
    // The client is cut off where the server cannot be reached.
    let Some(mut server) = way.reach().await else { return };
    end_by_reset(&server);
    for stream in [&client, &server] {
        // Only a matter of speed.
        let _ = stream.set_nodelay(true);
    }
    let link = Link { way, answered: AtomicBool::new(true) };
    let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
    let requests = async {
        link.requests(from_client, to_server).await;
        Ok(())
    };
    let ended = tokio::try_join!(requests, link.replies(from_server, to_client));
    end_in_order(&server);
    if ended.is_ok() {
        end_in_order(&client);
    }
}

impl Link {
    async fn requests(&self, mut from: ReadHalf<'_>, to: WriteHalf<'_>) {
        let (queue, queued) = mpsc::channel(UNDER_WAY);
        let read = async move {
            while let Some(mut bytes) = some_of(&mut from).await {
                self.asked();
                self.way.put_alias_in(&mut bytes);
                if queue.send((now(), bytes)).await.is_err() {
                    return;
                }
            }
        };
        tokio::join!(read, self.forward(queued, to));
    }

    async fn replies(&self, mut from: ReadHalf<'_>, to: WriteHalf<'_>) -> Result<(), CutOff> {
        let (queue, queued) = mpsc::channel(UNDER_WAY);
        let read = async move {
            while let Some(bytes) = some_of(&mut from).await {
                self.answered.store(true, Ordering::SeqCst);
                match self.way.loses() {
                    None => {}
                    Some(LostReply::Reset) => return Err(CutOff),
                    Some(LostReply::Silence) => pending().await,
                }
                if queue.send((now(), bytes)).await.is_err() {
                    break;
                }
            }
            Ok(())
        };
        let forward = async {
            self.forward(queued, to).await;
            Ok(())
        };
        tokio::try_join!(read, forward).map(|_| ())
    }

    /// Hands on what was read, and in the end that there is no more.
    async fn forward(&self, mut queued: mpsc::Receiver<Chunk>, mut to: WriteHalf<'_>) {
        while let Some((arrived, bytes)) = queued.recv().await {
            self.way.pass(arrived).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
        self.way.pass(now()).await;
        // The other side may have gone first.
        let _ = to.shutdown().await;
    }

    fn asked(&self) {
        if self.answered.swap(false, Ordering::SeqCst) {
            self.way.round_trips.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Way {
    /// Connects to the server, if it listens in time.
    async fn reach(&self) -> Option<TcpStream> {
        let mut pauses = match self.patience {
            Patience::None => 0,
            Patience::Some => 50,
        };
        loop {
            let target = *self.target();
            match TcpStream::connect(target).await {
                Ok(server) => return Some(server),
                Err(_) if pauses == 0 => return None,
                Err(_) => pauses -= 1,
            }
            sleep(PAUSE).await;
        }
    }

    /// Waits until what arrived then may go on.
    async fn pass(&self, arrived: Instant) {
        let mut condition = self.condition.subscribe();
        loop {
            let now = *condition.borrow_and_update();
            let slept = async {
                match now {
                    Condition::Sound | Condition::Lossy { .. } => {}
                    Condition::Slow(delay) => sleep_until(arrived + delay).await,
                    Condition::Silent => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = slept => return,
                // It never fails: this proxy has the sender.
                _ = condition.changed() => {}
            }
        }
    }

    fn put_alias_in(&self, bytes: &mut [u8]) {
        let Some((own, alias)) = self.alias.get() else { return };
        if let Some(at) = bytes.windows(own.len()).position(|window| window == own.as_bytes()) {
            bytes[at..at + own.len()].copy_from_slice(alias.as_bytes());
        }
    }

    /// What becomes of a connection on which a reply has just arrived, if that is lost.
    fn loses(&self) -> Option<LostReply> {
        match *self.condition.borrow() {
            Condition::Sound | Condition::Slow(_) | Condition::Silent => None,
            Condition::Lossy { after, then } => {
                (self.round_trips.load(Ordering::SeqCst) > after).then_some(then)
            }
        }
    }
}

/// What was sent next; none at the end, however it came.
async fn some_of(from: &mut ReadHalf<'_>) -> Option<Vec<u8>> {
    let mut bytes = vec![0; CHUNK];
    let count = from.read(&mut bytes).await.ok().filter(|count| *count > 0)?;
    bytes.truncate(count);
    Some(bytes)
}

#[expect(clippy::disallowed_methods, reason = "how long bytes are under way; no lease is measured")]
fn now() -> Instant {
    Instant::now()
}
