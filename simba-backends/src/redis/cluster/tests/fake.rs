//! A node that says what a test has it say.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use redis::IntoConnectionInfo;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};

use super::super::Cluster;

/// What a node says to a call.
#[derive(Clone, Copy)]
pub(super) enum Says {
    Done,
    /// An error, `MOVED 7 :6379` for example.
    No(&'static str),
    /// `MOVED` or `ASK`, to the fake of that port.
    Go(&'static str, u16),
    /// It closes the connection.
    HangUp,
}

/// What a node says of the cluster.
#[derive(Clone)]
pub(super) struct View {
    pub(super) state: &'static str,
    pub(super) epoch: u64,
    /// First slot, last slot, and the owner's port.
    pub(super) slots: Vec<(u16, u16, u16)>,
    /// It comes so late.
    pub(super) late: Duration,
}

#[derive(Default)]
struct Mind {
    view: Mutex<Option<View>>,
    says: Mutex<Vec<Says>>,
    calls: AtomicUsize,
    asked: AtomicUsize,
}

pub(super) struct Fake {
    pub(super) port: u16,
    mind: Arc<Mind>,
    /// Its listener and its connections end with it.
    tasks: JoinSet<()>,
}

impl Fake {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mind = Arc::<Mind>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(listen(listener, Arc::clone(&mind)));
        Self { port, mind, tasks }
    }

    /// From now on it says that of the cluster; with nothing it says nothing to anything, as a frozen one.
    pub(super) fn sees(&self, view: Option<View>) {
        *self.mind.view.lock().unwrap() = view;
    }

    /// To the next calls it says these, and the last one ever after.
    pub(super) fn says(&self, says: &[Says]) {
        *self.mind.says.lock().unwrap() = says.iter().rev().copied().collect();
    }

    /// How many calls it has been sent.
    pub(super) fn calls(&self) -> usize {
        self.mind.calls.load(SeqCst)
    }

    /// How many of them came after `ASKING`.
    pub(super) fn asked(&self) -> usize {
        self.mind.asked.load(SeqCst)
    }

    /// It refuses connections, and those that it has break.
    pub(super) async fn die(&mut self) {
        self.tasks.shutdown().await;
    }
}

pub(super) fn cluster(seeds: &[&Fake]) -> Cluster {
    let info = |seed: &&Fake| format!("redis://127.0.0.1:{}/", seed.port).into_connection_info().unwrap();
    Cluster::new("redis cluster".to_owned(), &seeds.iter().map(info).collect::<Vec<_>>()).unwrap()
}

async fn listen(listener: TcpListener, mind: Arc<Mind>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, Arc::clone(&mind)));
    }
}

async fn serve(stream: TcpStream, mind: Arc<Mind>) {
    let mut stream = BufReader::new(stream);
    let mut asking = false;
    while let Some(words) = request(&mut stream).await {
        let Some(view) = mind.view.lock().unwrap().clone() else { continue };
        let answer = match (words[0].as_str(), words.get(1).map(String::as_str)) {
            ("CLUSTER", Some("INFO")) => view.info(),
            ("CLUSTER", Some("SLOTS")) => {
                sleep(view.late).await;
                view.slots()
            }
            ("ASKING", _) => {
                asking = true;
                "+OK\r\n".to_owned()
            }
            ("EVALSHA", _) => match mind.next(std::mem::take(&mut asking)) {
                Says::Done => ":1\r\n".to_owned(),
                Says::No(error) => format!("-{error}\r\n"),
                Says::Go(how, port) => format!("-{how} 7 :{port}\r\n"),
                Says::HangUp => return,
            },
            _ => "+OK\r\n".to_owned(),
        };
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// An array of bulk strings.
async fn request(stream: &mut BufReader<TcpStream>) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for _ in 0..number(stream).await? {
        let mut word = vec![0; number(stream).await? + 2];
        stream.read_exact(&mut word).await.ok()?;
        words.push(String::from_utf8(word).unwrap().trim_end().to_owned());
    }
    Some(words)
}

async fn number(stream: &mut BufReader<TcpStream>) -> Option<usize> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    line.get(1..)?.trim_end().parse().ok()
}

impl Mind {
    fn next(&self, asking: bool) -> Says {
        self.calls.fetch_add(1, SeqCst);
        self.asked.fetch_add(usize::from(asking), SeqCst);
        let mut says = self.says.lock().unwrap();
        if says.len() > 1 { says.pop().unwrap() } else { says.last().copied().unwrap_or(Says::Done) }
    }
}

impl View {
    fn info(&self) -> String {
        let text = format!("cluster_state:{}\r\ncluster_current_epoch:{}\r\n", self.state, self.epoch);
        format!("${}\r\n{text}\r\n", text.len())
    }

    /// Without a host, as where the preferred endpoint is unknown.
    fn slots(&self) -> String {
        let ranges = self.slots.iter();
        let ranges = ranges.map(|(first, last, port)| {
            format!("*3\r\n:{first}\r\n:{last}\r\n*4\r\n$-1\r\n:{port}\r\n$1\r\nx\r\n*0\r\n")
        });
        format!("*{}\r\n{}", self.slots.len(), ranges.collect::<String>())
    }
}
