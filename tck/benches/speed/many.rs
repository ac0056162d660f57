//! Ten thousand leases of one session.

use std::time::Duration;

use simba_backends::{LeaseName, Metadata};

use crate::{clock::now, figures::Figures, storage::Storage};

const LEASES: usize = 10_000;
const AT_ONCE: usize = 1_000;
const KEEP_ALIVES: u32 = 20;
const LEASE: Duration = Duration::from_secs(60);

pub(crate) async fn measure(storage: &Storage) {
    let backend = simba_backends::connect(&storage.url).await.expect("the storage is there");
    let opened = backend.open_session(LEASE, &Metadata::default()).await.expect("the storage is there");
    let name = |nth| format!("many-{nth}").parse().expect("a good name");
    let names: Vec<LeaseName> = (0..LEASES).map(name).collect();
    storage.scripts().await;
    let start = now();
    for batch in names.chunks(AT_ONCE) {
        backend.acquire(&opened.session, batch).await.expect("the storage is there");
    }
    let acquiring = start.elapsed();
    tell_of_scripts(storage, "acquired").await;
    let mut took = Vec::new();
    for _ in 0..KEEP_ALIVES {
        let start = now();
        backend.keep_alive(&opened.session, LEASE).await.expect("the storage is there");
        took.push(start.elapsed());
    }
    tell_of_scripts(storage, &format!("{KEEP_ALIVES} keep-alives")).await;
    backend.close_session(&opened.session).await.expect("the storage is there");
    let kept = Figures::of(took);
    println!("{}, {LEASES} leases: acquired in {acquiring:.2?}; one keep-alive: {kept}", storage.kind);
}

async fn tell_of_scripts(storage: &Storage, what: &str) {
    if let Some(scripts) = storage.scripts().await {
        println!("{}, {LEASES} leases, {what}: {scripts}", storage.kind);
    }
}
