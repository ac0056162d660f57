//! A TCP proxy of ours that breaks the way to a server.

mod condition;
mod link;

use std::{
    net::{SocketAddr, TcpListener},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::net::sockopt::set_socket_linger;
use tokio::{net::TcpStream, sync::watch, task::JoinHandle};

use self::condition::Condition;
pub use self::condition::LostReply;
use crate::{external, port::Port};

/// A way to a server. With one proxy for each client, one client's way can be broken alone.
///
/// Each verb replaces what the one before it did, and has been done when it returns. It works on the runtime
/// that it was made on.
#[derive(Debug)]
pub struct Proxy {
    way: Arc<Way>,
    accepting: Mutex<Option<Task>>,
}

/// What all connections of a proxy share.
#[derive(Debug)]
struct Way {
    port: Port,
    target: Mutex<SocketAddr>,
    condition: watch::Sender<Condition>,
    round_trips: AtomicU64,
    /// An address that clients call their own, and another one of that length in its place.
    alias: OnceLock<(String, String)>,
    patience: Patience,
    links: Mutex<Vec<Task>>,
}

/// What becomes of clients while nobody listens at the other end.
#[derive(Clone, Copy, Debug)]
enum Patience {
    /// They are cut off.
    None,
    /// They wait for half a second.
    Some,
}

impl Proxy {
    /// A sound way to that address.
    ///
    /// # Panics
    /// If there is no port for it.
    ///
    /// # Cancel safety
    /// It waits for nothing.
    pub async fn before(target: SocketAddr) -> Self {
        Self::with(Patience::None, target)
    }

    /// One whose clients do not notice that the server listens half a second later than they come: they would be
    /// refused without a proxy, and try again.
    pub(crate) fn patiently_before(target: SocketAddr) -> Self {
        Self::with(Patience::Some, target)
    }

    fn with(patience: Patience, target: SocketAddr) -> Self {
        let way = Way {
            port: Port::new(),
            target: Mutex::new(target),
            condition: watch::Sender::new(Condition::Sound),
            round_trips: AtomicU64::new(0),
            alias: OnceLock::new(),
            patience,
            links: Mutex::new(Vec::new()),
        };
        let proxy = Self { way: Arc::new(way), accepting: Mutex::new(None) };
        proxy.listen();
        proxy
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.way.port.address()
    }

    /// That URL, through this proxy.
    pub fn url(&self, url: &str) -> String {
        let (before, host) = external::around_host(url);
        format!("{before}{}{}", self.address(), &url[before.len() + host.len()..])
    }

    /// Makes the way sound again: what was held back goes on.
    ///
    /// # Cancel safety
    /// It waits for nothing, like all verbs without a note.
    pub async fn heal(&self) {
        self.set(Condition::Sound);
    }

    /// Makes everything take that much longer, in each direction.
    pub async fn delay(&self, delay: Duration) {
        self.set(Condition::Slow(delay));
    }

    /// Forwards nothing, and does not say so: connections stay, and new ones are accepted. What is sent
    /// meanwhile, also the end of a connection, arrives after [`heal`](Self::heal).
    pub async fn black_hole(&self) {
        self.set(Condition::Silent);
    }

    /// Forwards what clients send, and loses what the server answers: an answer that arrives from now on is
    /// thrown away, and this happens to its connection.
    ///
    /// A call of two messages with two answers (prepare, execute) loses the first; see
    /// [`lose_replies_after`](Self::lose_replies_after).
    pub async fn lose_replies(&self, then: LostReply) {
        self.set(Condition::Lossy { after: 0, then });
    }

    /// Like [`lose_replies`](Self::lose_replies), once that many more [round trips](Self::round_trips) were
    /// begun and answered.
    pub async fn lose_replies_after(&self, round_trips: u64, then: LostReply) {
        let after = self.round_trips() + round_trips;
        self.set(Condition::Lossy { after, then });
    }

    /// Cuts all connections, on both sides, by RST; new ones are as before.
    ///
    /// # Cancel safety
    /// Cancelled, some may not be cut yet.
    pub async fn reset(&self) {
        let links = std::mem::take(&mut *self.way.links());
        for link in links {
            link.end().await;
        }
    }

    /// Cuts all connections by RST and refuses new ones.
    ///
    /// # Cancel safety
    /// Cancelled, some may not be cut yet.
    pub async fn refuse(&self) {
        let accepting = self.accepting().take();
        if let Some(task) = accepting {
            task.end().await;
        }
        self.reset().await;
    }

    /// Leads new connections to another address; those that are there stay.
    pub fn lead_to(&self, target: SocketAddr) {
        *self.way.target() = target;
    }

    /// Makes clients that tell the server where they are tell it another address, whose port has as many digits.
    pub(crate) fn set_alias(&self, own: SocketAddr, alias: SocketAddr) {
        let (own, alias) = (own.to_string(), alias.to_string());
        assert_eq!(own.len(), alias.len(), "what is sent keeps its length");
        self.way.alias.set((own, alias)).expect("there is one alias");
    }

    /// How often a client began to send after the server's last answer, over all connections since the start:
    /// at least one for each call.
    pub fn round_trips(&self) -> u64 {
        self.way.round_trips.load(Ordering::SeqCst)
    }

    fn set(&self, condition: Condition) {
        self.way.condition.send_replace(condition);
        self.listen();
    }

    fn listen(&self) {
        self.accepting().get_or_insert_with(|| {
            let listener = TcpListener::bind(self.address()).expect("the port is ours");
            listener.set_nonblocking(true).expect("a socket can be made non-blocking");
            let listener = tokio::net::TcpListener::from_std(listener).expect("a proxy is made on a runtime");
            Task(tokio::spawn(accept(self.way.clone(), listener)))
        });
    }

    fn accepting(&self) -> MutexGuard<'_, Option<Task>> {
        self.accepting.lock().expect("nobody panics while holding it")
    }
}

impl Way {
    fn target(&self) -> MutexGuard<'_, SocketAddr> {
        self.target.lock().expect("nobody panics while holding it")
    }

    fn links(&self) -> MutexGuard<'_, Vec<Task>> {
        self.links.lock().expect("nobody panics while holding it")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting().take();
        self.way.links().clear();
    }
}

async fn accept(way: Arc<Way>, listener: tokio::net::TcpListener) {
    loop {
        // A client that is gone before it is accepted is none.
        let Ok((client, _)) = listener.accept().await else { continue };
        end_by_reset(&client);
        let task = Task(tokio::spawn(link::run(way.clone(), client)));
        let mut links = way.links();
        links.retain(|link| !link.0.is_finished());
        links.push(task);
    }
}

/// Makes the connection end by RST when it is dropped.
fn end_by_reset(stream: &TcpStream) {
    set_socket_linger(stream, Some(Duration::ZERO)).expect("a TCP connection can be told how to end");
}

/// Makes it end as usual.
fn end_in_order(stream: &TcpStream) {
    set_socket_linger(stream, None).expect("a TCP connection can be told how to end");
}

/// Ends with its handle.
#[derive(Debug)]
struct Task(JoinHandle<()>);

impl Task {
    /// Ends it, and waits until what it had is closed.
    async fn end(mut self) {
        self.0.abort();
        // It was cancelled, or had ended.
        let _ = (&mut self.0).await;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
