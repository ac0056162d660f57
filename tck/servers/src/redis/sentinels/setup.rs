//! Sentinels that know all from the start.

use std::{fmt::Write as _, sync::Arc};

use futures_util::future::{join, join_all};

use super::Sentinel;
use crate::{
    ADMIN_PASSWORD, APP_PASSWORD, Options,
    port::Port,
    redis::{Redis, configuration::Role, launch, way::Way},
};

/// What the sentinels call the primary.
pub(super) const NAME: &str = "main";

/// Of sentinels, as many as must miss a primary are two.
const SENTINELS: usize = 3;

/// What the user may ask them.
const RIGHTS: &str = "allchannels -@all +@connection +@pubsub -@dangerous +role +info +sentinel|ckquorum \
    +sentinel|get-master-addr-by-name +sentinel|master +sentinel|masters +sentinel|replicas \
    +sentinel|slaves +sentinel|sentinels";

/// What only sentinels can be told.
const THEIRS: [&str; 3] = ["down-after-milliseconds", "failover-timeout", "parallel-syncs"];

/// Whom sentinels answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Access {
    Open,
    Passwords,
}

/// Settings of the servers, and those of the sentinels.
pub(super) fn divide(mut options: Options) -> (Options, Vec<(String, String)>) {
    let own = options.settings.extract_if(.., |(name, _)| THEIRS.contains(&name.as_str())).collect();
    (options, own)
}

/// Starts a primary and two replicas.
pub(super) async fn servers(options: &Options, way: Way) -> Vec<Redis> {
    let primary = Redis::of_ours(way, options.clone(), Role::Alone).await;
    let port = primary.announced().port();
    let replica = async || {
        let replica = Redis::of_ours(way, options.clone(), Role::ReplicaOf { port }).await;
        replica.wait_until_in_step().await;
        replica
    };
    let (one, other) = join(replica(), replica()).await;
    vec![primary, one, other]
}

/// Starts sentinels for these, of which the first is the primary.
pub(super) async fn sentinels(
    servers: &[Redis],
    settings: &[(String, String)],
    access: Access,
) -> Vec<Sentinel> {
    let seats: Vec<(String, Port)> = (0..SENTINELS).map(|_| (launch::new_id(), Port::new())).collect();
    let configuration_of = |(id, _): &(String, Port)| {
        let mut text = format!("{}{}", users(access), watched(id, servers));
        for (name, value) in settings {
            line(&mut text, &format!("sentinel {name} {NAME} {value}"));
        }
        for (other, port) in seats.iter().filter(|(other, _)| other != id) {
            line(&mut text, &format!("sentinel known-sentinel {NAME} 127.0.0.1 {} {other}", port.number()));
        }
        text
    };
    let configurations: Vec<String> = seats.iter().map(configuration_of).collect();
    let starts = seats.into_iter().zip(configurations).map(async |((_, port), configuration)| {
        let instance = Arc::new(launch::start_sentinel(port, &configuration).await);
        Sentinel { instance }
    });
    join_all(starts).await
}

fn users(access: Access) -> String {
    let default = match access {
        Access::Open => "",
        Access::Passwords => "user default off\nsentinel sentinel-user admin\n",
    };
    let mut text = format!(
        "bind 127.0.0.1
{default}user admin on >{ADMIN_PASSWORD} ~* &* +@all
user app on >{APP_PASSWORD} {RIGHTS}
"
    );
    match access {
        Access::Open => {}
        Access::Passwords => line(&mut text, &format!("sentinel sentinel-pass {ADMIN_PASSWORD}")),
    }
    text
}

fn watched(id: &str, servers: &[Redis]) -> String {
    let port = |server: &Redis| server.announced().port();
    let mut text = format!(
        "sentinel myid {id}
sentinel monitor {NAME} 127.0.0.1 {} 2
sentinel auth-user {NAME} admin
sentinel auth-pass {NAME} {ADMIN_PASSWORD}
sentinel down-after-milliseconds {NAME} 1000
sentinel failover-timeout {NAME} 5000
",
        port(&servers[0])
    );
    for replica in &servers[1..] {
        line(&mut text, &format!("sentinel known-replica {NAME} 127.0.0.1 {}", port(replica)));
    }
    text
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("memory takes what is written");
}
