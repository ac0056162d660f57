//! A holder that is kept alive without a pause, and a rival that tries for what it holds.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use simba_backends::{Acquired, Acquisition, KeepAlive, LeaseName, Token};
use tokio::{task::JoinHandle, time::sleep};

use crate::peer::Peer;

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) told: u32,
    /// Keep-alives that did not know of all.
    pub(crate) partly: u32,
    pub(crate) failed: u32,
}

pub(crate) struct Traffic {
    over: Arc<AtomicBool>,
    holder: JoinHandle<Account>,
    rival: JoinHandle<()>,
}

impl Traffic {
    /// Begins; from here on nothing that is held may be missed or taken.
    pub(crate) fn begin(holder: &Peer, rival: &Peer, held: &[(LeaseName, Token)]) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let mut held = held.to_vec();
        held.sort();
        let names = held.iter().map(|(name, _)| name.clone()).collect();
        Self {
            holder: tokio::spawn(keep(holder.clone(), held, over.clone())),
            rival: tokio::spawn(try_for(rival.clone(), names, over.clone())),
            over,
        }
    }

    pub(crate) async fn end(self) -> Account {
        self.over.store(true, Ordering::Relaxed);
        self.rival.await.unwrap();
        self.holder.await.unwrap()
    }
}

async fn keep(holder: Peer, held: Vec<(LeaseName, Token)>, over: Arc<AtomicBool>) -> Account {
    let mut account = Account::default();
    while !over.load(Ordering::Relaxed) {
        match holder.backend.keep_alive(&holder.session, holder.lease).await {
            Ok(KeepAlive::Live { owned, unknown, .. }) => {
                account.told += 1;
                account.partly += u32::from(!unknown.is_empty());
                let missed = held.iter().find(|lease| !owned.contains(lease) && !unknown.contains(&lease.0));
                assert!(missed.is_none(), "{missed:?} was lost: {owned:?}, unknown {unknown:?}");
            }
            Ok(KeepAlive::Expired) => panic!("{} was lost", holder.session),
            Err(_) => account.failed += 1,
        }
        sleep(Duration::from_millis(20)).await;
    }
    account
}

async fn try_for(rival: Peer, names: Vec<LeaseName>, over: Arc<AtomicBool>) {
    while !over.load(Ordering::Relaxed) {
        if let Ok(Acquired::Answers(answers)) = rival.backend.acquire(&rival.session, &names).await {
            for (name, answer) in answers {
                let taken = matches!(answer, Acquisition::Granted { .. } | Acquisition::AlreadyOwned { .. });
                assert!(!taken, "{name} was granted twice: {answer:?}");
            }
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// What a peer was granted.
pub(crate) async fn taken(peer: &Peer, names: &[LeaseName]) -> Vec<(LeaseName, Token)> {
    let answers = peer.acquire_all(names).await.into_iter().map(|(name, answer)| match answer {
        Acquisition::Granted { token, .. } => (name, token),
        other => panic!("{name}: {other:?}"),
    });
    let mut taken: Vec<_> = answers.collect();
    taken.sort();
    taken
}
