//! A pooler on the way is found out, and nobody else has to suffer for it.

use std::{
    io,
    sync::{Arc, Mutex},
};

use simba_backends::LeaseBackend;
use sqlx::{Connection, Executor, PgConnection};
use tokio::task::JoinSet;

use crate::{
    fixture::{Bounced, Server},
    peer::{LONG, Peer, hinted, listening, name},
};

/// What is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[tokio::test]
async fn a_pooler_is_found_out_and_said_once() {
    let server = Server::<Bounced>::fresh_server().await;
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let backend = server.backend().await;
    let mine = Peer::open(Arc::new(backend.clone()), LONG).await;
    mine.granted(&name("n")).await;
    assert!(!backend.capabilities().hints && backend.hints().is_none() && backend.hints().is_none());
    drop(guard);
    let warnings: Vec<_> =
        log.text().lines().filter(|line| line.contains("WARN")).map(str::to_owned).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("pooler"), "{warnings:?}");
    assert!(server.direct().await.capabilities().hints, "past it there is none");
}

/// They make the pooler open several connections, and mix up who has which.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_pooler_is_found_out_and_its_clients_notice_nothing() {
    let server = Server::<Bounced>::fresh_server().await;
    let mut others = JoinSet::new();
    for _ in 0..8 {
        let mut client = PgConnection::connect(&server.url()).await.unwrap();
        others.spawn(async move {
            for _ in 0..2000 {
                client.execute(sqlx::raw_sql("select pg_sleep(0.001)")).await.unwrap();
            }
        });
    }
    for _ in 0..20 {
        assert!(!server.backend().await.capabilities().hints);
    }
    let mut operator = server.operator().await;
    operator.run("notify simba, 'job'").await;
    while let Some(other) = others.join_next().await {
        other.expect("nobody is told what they did not ask for");
    }
}

/// Telling goes through a pooler, only listening does not.
#[tokio::test]
async fn what_is_released_behind_a_pooler_is_hinted_to_those_who_connect_past_it() {
    let server = Server::<Bounced>::fresh_server().await;
    let pooled = Peer::open(Arc::new(server.backend().await), LONG).await;
    let mut hints = server.direct().await.hints().expect("past the pooler there are hints");
    let n = name("n");
    hints.want(&n);
    listening(&mut *hints).await;
    let token = pooled.granted(&n).await;
    pooled.release(&n, token).await;
    hinted(&mut *hints, &n).await;
}
