//! `redis.conf`, where later settings win.

use std::fmt::Write as _;

use crate::{ADMIN_PASSWORD, APP_PASSWORD, Options, kit::Kit, options::Durability};

/// What the user may do: to what he owns, and what clients need of the server.
pub(super) const RIGHTS: &str = "resetkeys resetchannels ~simba:* &simba:* -@all +@read +@write +@scripting \
    +@pubsub +@connection +@transaction -@dangerous +time +info +role +wait +cluster|info +cluster|slots +cluster|shards";

/// After how many milliseconds the servers of a cluster miss one, unless an option says otherwise.
pub(super) const NODE_TIMEOUT: &str = "1000";

/// What makes a server special.
pub(super) enum Role {
    Alone,
    WithTls { port: u16 },
    ReplicaOf { port: u16 },
    InCluster { announced: u16, bus: u16 },
}

/// Links to replicas are a user's, so that they can be forbidden alone. Nobody can be the default user, and yet it
/// may do all: an append-only file is read with its rights, and without these Redis 7 leaves out, and says nothing,
/// what a script has written (redis issue 14541). A replica gets what is there by way of a
/// file, which takes as long as a server takes to notice that the file is complete: by way of a socket it would
/// now and then be another second until the first `WAIT` counts it.
pub(super) fn of(options: &Options, role: &Role) -> String {
    let fsync = match options.durability {
        // With "everysec" nothing is written while the disk takes its time, and a SIGKILL loses it.
        Durability::Process => "no",
        Durability::Machine => "always",
    };
    let mut text = format!(
        "bind 127.0.0.1
save \"\"
appendonly yes
appendfsync {fsync}
repl-diskless-sync no
hz 100
enable-debug-command local
user default off ~* &* +@all
user admin on >{ADMIN_PASSWORD} ~* &* +@all
user replica on >{ADMIN_PASSWORD} -@all +psync +replconf +ping
user app on >{APP_PASSWORD} {RIGHTS}
masteruser replica
masterauth {ADMIN_PASSWORD}
"
    );
    text.push_str(&special(role));
    for (name, value) in &options.settings {
        writeln!(text, "{name} {value}").expect("memory takes what is written");
    }
    text
}

fn special(role: &Role) -> String {
    match role {
        Role::Alone => String::new(),
        Role::ReplicaOf { port } => format!("replicaof 127.0.0.1 {port}\n"),
        Role::InCluster { announced, bus } => format!(
            "cluster-enabled yes
cluster-config-file nodes.conf
cluster-port {bus}
cluster-announce-ip 127.0.0.1
cluster-announce-port {announced}
cluster-node-timeout {NODE_TIMEOUT}
cluster-replica-validity-factor 0
cluster-allow-replica-migration no
"
        ),
        Role::WithTls { port } => {
            let file = |name: &str| Kit::REDIS.file(name).display().to_string();
            format!(
                "tls-port {port}
tls-auth-clients no
tls-cert-file \"{}\"
tls-key-file \"{}\"
tls-ca-cert-file \"{}\"
",
                file("server.pem"),
                file("server.key"),
                file("ca.pem"),
            )
        }
    }
}
