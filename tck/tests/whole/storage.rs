//! The storage as one node sees it: the memory backend behind a wire.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::FutureExt;
use simba_actors::backends::{
    Acquired, Acquisition, BackendError, Capabilities, GroupName, HintSource, Holder, Joined, KeepAlive,
    LeaseBackend, LeaseName, Member, Metadata, Opened, Release, SessionId, Token, memory::MemoryBackend,
};
use simba_tck::async_trait;

use crate::{
    hints::LateHints,
    lie::Lie,
    weather::Slow,
    wire::{carry, timed_out},
    world::World,
};

type Answer<T> = Result<T, BackendError>;

pub(crate) struct Storage {
    world: Arc<World>,
    node: usize,
}

impl Storage {
    pub(crate) fn new(world: Arc<World>, node: usize) -> Self {
        Self { world, node }
    }

    async fn carry<T: Send + 'static>(
        &self,
        what: String,
        names: Vec<LeaseName>,
        effect: impl Fn(&World, &MemoryBackend) -> T + Send + 'static,
    ) -> Answer<T> {
        carry(self.world.clone(), self.node, what, names, effect).await
    }
}

/// What the memory backend does is done at once.
fn now<T>(call: impl Future<Output = Answer<T>>) -> T {
    call.now_or_never().expect("memory never waits").expect("memory never fails")
}

#[async_trait]
impl LeaseBackend for Storage {
    fn capabilities(&self) -> Capabilities {
        self.world.memory.capabilities()
    }

    async fn open_session(&self, lease: Duration, metadata: &Metadata) -> Answer<Opened> {
        let (node, metadata) = (self.node, metadata.clone());
        let open = move |world: &World, memory: &MemoryBackend| {
            let opened = now(memory.open_session(lease, &metadata));
            Opened { session: world.sessions(|sessions| sessions.add(node, opened.session)), ..opened }
        };
        self.carry("open".to_owned(), Vec::new(), open).await
    }

    async fn keep_alive(&self, session: &SessionId, lease: Duration) -> Answer<KeepAlive> {
        let (alias, slow) = (session.clone(), self.world.weather(|weather| weather.slow.clone()));
        let keep_alive = move |world: &World, memory: &MemoryBackend| {
            let id = world.sessions(|sessions| sessions.real(&alias));
            let mut answer = now(memory.keep_alive(&id, truly_prolonged(world.lie, lease)));
            if let (KeepAlive::Live { owned, unknown, .. }, Some((name, Slow::Fails))) = (&mut answer, &slow)
            {
                unknown.extend(owned.extract_if(.., |(owned, _)| owned == name).map(|(name, _)| name));
            }
            lie_about_life(world.lie, lease, answer)
        };
        self.carry(format!("keep-alive {session}"), Vec::new(), keep_alive).await
    }

    async fn close_session(&self, session: &SessionId) -> Answer<()> {
        let alias = session.clone();
        let close = move |world: &World, memory: &MemoryBackend| {
            now(memory.close_session(&world.sessions(|sessions| sessions.real(&alias))));
        };
        self.carry(format!("close {session}"), Vec::new(), close).await
    }

    async fn acquire(&self, session: &SessionId, names: &[LeaseName]) -> Answer<Acquired> {
        let (alias, asked) = (session.clone(), names.to_vec());
        let slow = self.world.weather(|weather| weather.slow.clone());
        let acquire = move |world: &World, memory: &MemoryBackend| {
            let id = world.sessions(|sessions| sessions.real(&alias));
            let slow = slow.as_ref().filter(|(_, slow)| *slow == Slow::Fails).map(|(name, _)| name);
            let names: Vec<_> = asked.iter().filter(|name| Some(*name) != slow).cloned().collect();
            let mut answer = acquire_truly_or_not(world.lie, memory, &id, &names);
            if let Acquired::Answers(answers) = &mut answer {
                let failed = asked.iter().filter(|name| Some(*name) == slow);
                answers.extend(failed.map(|name| (name.clone(), Acquisition::Failed(timed_out()))));
            }
            answer
        };
        self.carry(format!("acquire {session} {names:?}"), names.to_vec(), acquire).await
    }

    async fn release(
        &self,
        session: &SessionId,
        leases: &[(LeaseName, Token)],
    ) -> Answer<Vec<(LeaseName, Release)>> {
        let (alias, asked) = (session.clone(), leases.to_vec());
        let names: Vec<_> = leases.iter().map(|(name, _)| name.clone()).collect();
        let release = move |world: &World, memory: &MemoryBackend| {
            let id = world.sessions(|sessions| sessions.real(&alias));
            release_truly_or_not(world.lie, memory, &id, &asked)
        };
        self.carry(format!("release {session} {leases:?}"), names, release).await
    }

    async fn join(&self, _: &SessionId, _: &GroupName) -> Answer<Joined> {
        Ok(Joined::Expired)
    }

    async fn leave(&self, _: &SessionId, _: &GroupName) -> Answer<()> {
        Ok(())
    }

    async fn members(&self, _: &GroupName) -> Answer<Vec<Member>> {
        Ok(Vec::new())
    }

    async fn inspect(&self, name: &LeaseName) -> Answer<Option<Holder>> {
        let asked = name.clone();
        let inspect = move |_: &World, memory: &MemoryBackend| now(memory.inspect(&asked));
        self.carry(format!("inspect {name}"), vec![name.clone()], inspect).await
    }

    fn hints(&self) -> Option<Box<dyn HintSource>> {
        let hints = self.world.memory.hints()?;
        Some(Box::new(LateHints::new(self.world.clone(), self.node, hints)))
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage of node {}", self.node)
    }
}

/// By how much a keep-alive prolongs, whatever it tells.
fn truly_prolonged(lie: Lie, lease: Duration) -> Duration {
    if lie == Lie::TellsTooLong { lease / 2 } else { lease }
}

fn lie_about_life(lie: Lie, lease: Duration, answer: KeepAlive) -> KeepAlive {
    match (lie, answer) {
        // No more than a lease: nothing longer is believed.
        (Lie::TellsTooLong, KeepAlive::Live { owned, unknown, groups, server_elapsed, .. }) => {
            KeepAlive::Live { remaining: lease, owned, unknown, groups, server_elapsed }
        }
        (_, honest) => honest,
    }
}

fn acquire_truly_or_not(lie: Lie, memory: &MemoryBackend, id: &SessionId, names: &[LeaseName]) -> Acquired {
    if lie == Lie::GrantsTheUnexpired {
        for name in names {
            if let Some(holder) = now(memory.inspect(name)).filter(|holder| holder.session != *id) {
                now(memory.release(&holder.session, &[(name.clone(), holder.token)]));
            }
        }
    }
    now(memory.acquire(id, names))
}

fn release_truly_or_not(
    lie: Lie,
    memory: &MemoryBackend,
    id: &SessionId,
    leases: &[(LeaseName, Token)],
) -> Vec<(LeaseName, Release)> {
    let mut leases = leases.to_vec();
    if lie == Lie::ReleasesAnyToken {
        for (name, token) in &mut leases {
            let held = now(memory.inspect(name)).filter(|holder| holder.session == *id);
            *token = held.map_or(*token, |holder| holder.token);
        }
    }
    if lie == Lie::KeepsTheReleased {
        return leases.into_iter().map(|(name, _)| (name, Release::Gone)).collect();
    }
    now(memory.release(id, &leases))
}
