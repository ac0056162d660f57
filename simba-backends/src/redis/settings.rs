//! What the server is, and whether it keeps what it is told.

use std::{collections::BTreeMap, time::Duration};

use redis::{FromRedisValue, Value, cmd, from_redis_value};
use tracing::{info, warn};

use super::server::Server;
use crate::{BackendError, ErrorKind, Outcome};

/// The oldest that has what the scripts use.
const OLDEST: u32 = 7;

/// What a server says of itself. A managed one may say little.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// All digits and dots, as it writes it.
    version: Option<String>,
    mode: Option<Mode>,
    eviction: Option<String>,
    append_only: Option<bool>,
}

/// How a server is to be addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Alone,
    Sentinel,
    Cluster,
}

impl Settings {
    /// Asks a server (of a cluster any one).
    ///
    /// # Errors
    /// What hinders any call; a server that only refuses to tell is taken as it is.
    pub(super) async fn ask(server: &Server, limit: Duration) -> Result<Self, BackendError> {
        let mut settings = match told::<String>(server, &cmd("INFO"), limit).await? {
            Some(text) => Self::of_info(&text),
            None => Self::default(),
        };
        if settings.eviction.is_none() || settings.append_only.is_none() {
            let mut question = cmd("CONFIG");
            question.arg("GET").arg("maxmemory-policy").arg("appendonly");
            let config: Option<BTreeMap<String, String>> = told(server, &question, limit).await?;
            settings.add_config(config.unwrap_or_default());
        }
        Ok(settings)
    }

    fn of_info(text: &str) -> Self {
        let told: BTreeMap<&str, &str> =
            text.lines().filter_map(|line| line.trim_end().split_once(':')).collect();
        let mode = match (told.get("redis_mode").copied(), told.get("cluster_enabled").copied()) {
            (Some("sentinel"), _) => Some(Mode::Sentinel),
            (Some("cluster"), _) | (_, Some("1")) => Some(Mode::Cluster),
            (Some(_), _) | (_, Some(_)) => Some(Mode::Alone),
            (None, None) => None,
        };
        Self {
            version: told.get("redis_version").map(|&version| version.to_owned()),
            mode,
            eviction: told.get("maxmemory_policy").map(|&policy| policy.to_owned()),
            append_only: told.get("aof_enabled").map(|&enabled| enabled != "0"),
        }
    }

    fn add_config(&mut self, mut config: BTreeMap<String, String>) {
        self.eviction = self.eviction.take().or_else(|| config.remove("maxmemory-policy"));
        self.append_only = self.append_only.or_else(|| config.get("appendonly").map(|set| set != "no"));
    }

    /// Refuses a server that is too old, or another kind than the one that it is addressed as.
    pub(super) fn check(&self, place: &str, addressed: Mode) -> Result<(), BackendError> {
        let remedy = match (self.mode, addressed) {
            (Some(Mode::Cluster), Mode::Alone | Mode::Sentinel) => {
                Some("is part of a cluster: write redis+cluster://host:port,host:port")
            }
            (Some(Mode::Sentinel), Mode::Alone | Mode::Sentinel | Mode::Cluster) => {
                Some("is a Sentinel: write redis+sentinel://host:port,host:port/MASTER")
            }
            (Some(Mode::Alone), Mode::Cluster) => Some("is no cluster: write redis://host:port"),
            (Some(Mode::Alone), Mode::Alone | Mode::Sentinel) | (Some(Mode::Cluster), Mode::Cluster) => None,
            (None, _) => None,
        };
        if let Some(remedy) = remedy {
            return Err(BackendError::config(format!("{place} {remedy} (rediss for TLS)")));
        }
        let major = self.version.as_ref().and_then(|version| version.split('.').next()?.parse::<u32>().ok());
        match (&self.version, major) {
            (Some(version), Some(major)) if major < OLDEST => Err(BackendError::new(
                ErrorKind::Unsupported,
                Outcome::NotApplied,
                format!("{place} is Redis {version}: Simba needs Redis {OLDEST} or newer"),
            )),
            _ => Ok(()),
        }
    }

    /// Whether tokens survive a restart, as far as it says.
    pub(super) fn durable_tokens(&self) -> bool {
        self.append_only == Some(true)
    }

    /// What an operator should change; each is logged, once.
    pub(super) fn warnings(&self, place: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(policy) = self.eviction.as_deref().filter(|policy| *policy != "noeviction") {
            warn!(%place, %policy, remedy = "set maxmemory-policy noeviction", "server may evict keys that carry tokens");
            warnings.push(format!(
                "{place} may evict keys that carry tokens or sessions when its memory is full (maxmemory-policy \
                 {policy}): set maxmemory-policy noeviction"
            ));
        }
        if self.append_only == Some(false) {
            warn!(%place, remedy = "set appendonly yes", "server keeps no append-only file");
            warnings.push(format!(
                "{place} keeps no append-only file, so that a restart takes tokens back: set appendonly yes"
            ));
        }
        if self.eviction.is_none() || self.append_only.is_none() {
            info!(%place, "server does not tell whether it evicts keys and keeps an append-only file");
        }
        warnings
    }
}

/// The answer to a question that a server may refuse.
async fn told<T: FromRedisValue>(
    server: &Server,
    question: &redis::Cmd,
    limit: Duration,
) -> Result<Option<T>, BackendError> {
    match server.command(question, limit).await {
        Ok(answer) => Ok(from_answer(answer)),
        // Forbidden, unknown, or unforeseen: the scripts will show whether the rest can be done.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::Unauthorized | ErrorKind::Unsupported | ErrorKind::Unexpected
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn from_answer<T: FromRedisValue>(answer: Value) -> Option<T> {
    from_redis_value(answer).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n# Memory\r\n\
                        maxmemory_policy:noeviction\r\n# Persistence\r\naof_enabled:1\r\n# Cluster\r\n\
                        cluster_enabled:0\r\n";

    #[test]
    fn a_server_that_keeps_what_it_is_told_is_not_warned_of() {
        let settings = Settings::of_info(INFO);
        assert!(settings.durable_tokens() && settings.warnings("x").is_empty());
        assert!(settings.check("x", Mode::Alone).is_ok());
    }

    #[test]
    fn a_server_that_tells_nothing_is_neither_refused_nor_warned_of_nor_trusted() {
        let settings = Settings::default();
        assert!(settings.warnings("x").is_empty() && !settings.durable_tokens());
        assert!(settings.check("x", Mode::Cluster).is_ok());
    }

    #[test]
    fn what_takes_tokens_back_is_warned_of_whichever_way_it_is_told() {
        let info = INFO.replace("noeviction", "allkeys-lru").replace("aof_enabled:1", "aof_enabled:0");
        let mut told = Settings::default();
        let config = [("maxmemory-policy", "allkeys-lru"), ("appendonly", "no")];
        told.add_config(config.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        for settings in [Settings::of_info(&info), told] {
            let warnings = settings.warnings("redis at x:1");
            assert!(
                warnings[0].contains("allkeys-lru") && warnings[1].contains("appendonly yes"),
                "{warnings:?}"
            );
        }
    }

    #[test]
    fn the_wrong_scheme_is_answered_with_the_right_one() {
        let mode = |mode: &str| Settings::of_info(&INFO.replace("standalone", mode));
        for (settings, addressed, part) in [
            (mode("cluster"), Mode::Alone, "redis+cluster://"),
            (mode("cluster"), Mode::Sentinel, "redis+cluster://"),
            (mode("sentinel"), Mode::Alone, "redis+sentinel://"),
            (mode("standalone"), Mode::Cluster, "redis://"),
        ] {
            let error = settings.check("redis at x:1", addressed).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.to_string().contains(part), "{error}");
        }
        let old = Settings::of_info(&INFO.replace("7.0.15", "6.2.14")).check("x", Mode::Alone).unwrap_err();
        assert_eq!(old.kind(), ErrorKind::Unsupported);
    }
}
