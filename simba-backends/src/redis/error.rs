//! What a failed exchange with Redis means to a caller.

use redis::{ErrorKind as RedisErrorKind, RedisError};

use super::{node::Failure, reply};
use crate::{
    BackendError,
    ErrorKind::{
        self, Config, Corrupt, ReadOnly, Timeout, Unauthorized, Unavailable, Unexpected, Unsupported,
    },
    Outcome::{self, NotApplied, Unknown},
};

type Meaning = (ErrorKind, Outcome, String);

/// What a failure means for the call that it ended.
pub(super) fn meaning(place: &str, failure: Failure) -> BackendError {
    match failure {
        Failure::NotConnectedInTime => {
            BackendError::new(Timeout, NotApplied, format!("no connection to {place} in time"))
        }
        Failure::NotAnsweredInTime => BackendError::timeout(format!("{place} has not answered in time")),
        Failure::TooFewReplicas(reached) => BackendError::new(
            Unavailable,
            Unknown,
            format!(
                "only {reached} of the replicas of {place} have confirmed a call in time: look at their link (info \
                 replication), or ask for fewer (wait_replicas)"
            ),
        ),
        Failure::NotConnected(error) => match Answer::of(&error) {
            Some(answer) => answer.meaning(place),
            None => unconnected(place, error),
        },
        Failure::Failed(error) => match Answer::of(&error) {
            Some(answer) => answer.meaning(place),
            None => broken(place, error),
        },
    }
}

/// No connection, and the server has not said why.
fn unconnected(place: &str, error: RedisError) -> BackendError {
    let (kind, message) = if error.kind() == RedisErrorKind::AuthenticationFailed {
        // The driver keeps the server's words to itself, also when those are that there are too many clients.
        let message = format!(
            "{place} does not let us in: check user and password, and its number of clients (maxclients)"
        );
        (Unauthorized, message)
    } else if distrusts(&error) {
        let message = format!(
            "no TLS connection to {place} ({error}): correct its certificates, or the host in the URL"
        );
        (Config, message)
    } else if matches!(error.kind(), RedisErrorKind::Parse | RedisErrorKind::RESP3NotSupported) {
        let message = format!(
            "{place} does not answer as Redis 7 does: check the port, and whether TLS is spoken there (rediss://)"
        );
        (Config, message)
    } else if error.kind() == RedisErrorKind::InvalidClientConfig {
        (Config, format!("the settings for {place} cannot work: {error}"))
    } else {
        let hint = if error.is_connection_dropped() && !error.is_connection_refusal() {
            ": it closes new connections, see its maxclients, and whether TLS is spoken there (rediss://)"
        } else {
            ""
        };
        (Unavailable, format!("{place} cannot be reached: {error}{hint}"))
    };
    BackendError::new(kind, NotApplied, message).with_source(error)
}

/// Whether TLS has failed for what the other side showed.
fn distrusts(error: &RedisError) -> bool {
    let source = std::error::Error::source(error);
    let failed = source.and_then(find_io);
    failed.is_some_and(|error| error.kind() == std::io::ErrorKind::InvalidData)
}

fn find_io<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a std::io::Error> {
    // The driver shares the errors that it wraps.
    error.downcast_ref::<std::io::Error>().or_else(|| {
        error.downcast_ref::<std::sync::Arc<dyn std::error::Error + Send + Sync>>()?.downcast_ref()
    })
}

/// The connection was lost after the call was sent, or its bytes made no sense.
fn broken(place: &str, error: RedisError) -> BackendError {
    let (kind, message) = if error.is_io_error() {
        (Unavailable, format!("the connection to {place} broke before its answer: {error}"))
    } else {
        (Unexpected, format!("{place} has given an answer that nobody can read: {error}"))
    };
    BackendError::new(kind, Unknown, message).with_source(error)
}

/// What the server said instead of doing a call.
///
/// It never becomes the source of an error: of a command that it does not know a server repeats the arguments, a
/// password among them.
struct Answer {
    code: String,
    words: String,
    /// Whether a script was in the midst of it.
    in_a_script: bool,
}

impl Answer {
    fn of(error: &RedisError) -> Option<Self> {
        if let Some(errors) = error.clone().into_server_errors() {
            let (_, error) = errors.first()?;
            return Some(Self::new(error.code(), error.details().unwrap_or_default()));
        }
        // What the driver says of a refusal while it connects.
        let RedisErrorKind::Server(_) = error.kind() else { return None };
        Some(Self::new(error.code().unwrap_or_default(), error.detail().unwrap_or_default()))
    }

    fn new(code: &str, words: &str) -> Self {
        let in_a_script = ["in script", "from script", "the script", "@user_script"];
        let in_a_script = in_a_script.iter().any(|part| words.contains(part));
        let words = words.split(", with args beginning with").next().unwrap_or_default();
        // The script's hash and line tell nobody anything.
        let words = match words.rsplit_once(" script: ") {
            Some((words, place)) if place.contains("@user_script") => words,
            _ => words,
        };
        let words = words.trim_end().to_owned();
        Self { code: code.to_owned(), words, in_a_script }
    }

    fn meaning(&self, place: &str) -> BackendError {
        if self.code == "CORRUPT" {
            // Our scripts' own word; the server adds where in the script.
            let what = self.words.split(" script: ").next().unwrap_or_default();
            return reply::corrupt(place, what);
        }
        let (kind, outcome, message) = self
            .access(place)
            .or_else(|| self.writes(place))
            .or_else(|| self.service(place))
            .or_else(|| self.ability(place))
            .unwrap_or_else(|| {
                let message = format!("{place} refused a call with an error that nobody foresaw: {self}");
                (Unexpected, Unknown, message)
            });
        BackendError::new(kind, outcome, message)
    }

    /// The answers to who is not let in, or not let do it.
    fn access(&self, place: &str) -> Option<Meaning> {
        if matches!(&*self.code, "WRONGPASS" | "NOAUTH") {
            let message = format!(
                "{place} does not let us in ({self}): check user and password; each server has users of its own"
            );
            return Some((Unauthorized, NotApplied, message));
        }
        if self.code == "DENIED" {
            let message =
                format!("{place} lets in nobody from elsewhere (protected mode): give its users passwords");
            return Some((Unauthorized, NotApplied, message));
        }
        let forbidden = self.code == "NOPERM"
            || ["ACL failure in script", "The user executing the script", "no permissions"]
                .iter()
                .any(|words| self.words.contains(words));
        forbidden.then(|| {
            let message = format!("a permission is missing on {place} ({self}): grant {}", self.lacking());
            (Unauthorized, self.outcome(), message)
        })
    }

    /// What an operator has to grant.
    fn lacking(&self) -> String {
        if self.words.contains("channel") {
            return "the channels of its prefix with ACL SETUSER <user> &simba:* (simba: unless set)"
                .to_owned();
        }
        // "at least one of the keys", "a key", "the 'simba:x' key", but "the 'key' command".
        if self.words.contains("key") && !self.words.contains("command'") && !self.names_a_command() {
            return "the keys of its prefix with ACL SETUSER <user> ~simba:* (simba: unless set)".to_owned();
        }
        match self.quoted().filter(|_| self.names_a_command()) {
            Some(command) => format!("the command with ACL SETUSER <user> +{command}"),
            None => {
                "the commands with ACL SETUSER <user> +@read +@write +@scripting +@pubsub +time".to_owned()
            }
        }
    }

    fn names_a_command(&self) -> bool {
        self.words.contains("permissions to run the")
    }

    /// The first that is between two quotes.
    fn quoted(&self) -> Option<&str> {
        self.words.split(['\'', '`']).nth(1)
    }

    /// The answers of a server that takes no writes. It gives them before a script starts, or at a script's first
    /// write; once a script has written, it may go on whatever comes (Redis, `scriptVerifyWriteCommandAllow`).
    fn writes(&self, place: &str) -> Option<Meaning> {
        let remedy = match &*self.code {
            "READONLY" => "name the master, or address it by its Sentinels",
            "OOM" => "it is out of memory: raise its maxmemory",
            "MISCONF" => "it cannot save: free its disk, and see its log",
            "NOREPLICAS" => "it has too few replicas: see min-replicas-to-write, and the replicas' link",
            _ => return None,
        };
        Some((ReadOnly, NotApplied, format!("{place} takes no writes ({self}): {remedy}")))
    }

    /// The answers of a server that does not serve for now.
    fn service(&self, place: &str) -> Option<Meaning> {
        let waits = matches!(&*self.code, "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "BUSY");
        if !waits && !self.words.contains("max number of clients") {
            return None;
        }
        Some((Unavailable, self.outcome(), format!("{place} does not serve for now ({self})")))
    }

    /// The answers of what is not the server that Simba needs, or not used as it should be.
    fn ability(&self, place: &str) -> Option<Meaning> {
        let lowercase = self.words.to_ascii_lowercase();
        if matches!(&*self.code, "MOVED" | "ASK" | "CROSSSLOT") || lowercase.contains("in cluster mode") {
            let message =
                format!("{place} is part of a cluster ({self}): write redis+cluster://host:port,host:port");
            return Some((Config, self.outcome(), message));
        }
        if lowercase.contains("cluster support disabled") {
            let message = format!("{place} is no cluster ({self}): write redis://host:port");
            return Some((Config, NotApplied, message));
        }
        if lowercase.contains("unknown command") || lowercase.contains("unknown redis command") {
            let message =
                format!("{place} lacks a command ({self}): Simba needs Redis 7 or newer, nothing renamed");
            return Some((Unsupported, self.outcome(), message));
        }
        if lowercase.contains("db index") {
            let message =
                format!("{place} has no such database ({self}): correct the URL, or raise its `databases`");
            return Some((Config, NotApplied, message));
        }
        (self.code == "WRONGTYPE").then(|| {
            let message = format!(
                "a key on {place} has a type that Simba does not give it ({self}): look what else uses the prefix"
            );
            (Corrupt, self.outcome(), message)
        })
    }

    /// Commands are refused as a whole; a script was in the midst, and what WAIT belongs to was done.
    fn outcome(&self) -> Outcome {
        let was_done = self.words.contains("'wait'");
        if was_done || self.in_a_script { Unknown } else { NotApplied }
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, words, .. } = self;
        write!(f, "{code} {words}")
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// What the server says after a minus.
    fn said(line: &str) -> RedisError {
        let bytes = format!("-{line}\r\n").into_bytes();
        let Ok(redis::Value::ServerError(error)) = redis::parse_redis_value(&bytes) else {
            panic!("no error: {line}")
        };
        error.into()
    }

    #[test]
    fn each_answer_has_a_kind_and_an_outcome_that_a_caller_can_act_on() {
        let in_script = "script: 3d0e, on @user_script:7.";
        let cases = [
            ("WRONGPASS invalid username-password pair", Unauthorized, NotApplied, "password"),
            ("NOAUTH Authentication required.", Unauthorized, NotApplied, "password"),
            (
                "NOPERM User app has no permissions to run the 'evalsha' command",
                Unauthorized,
                NotApplied,
                "ACL SETUSER <user> +evalsha",
            ),
            ("NOPERM No permissions to access a key", Unauthorized, NotApplied, "~simba:*"),
            ("NOPERM No permissions to access a channel", Unauthorized, NotApplied, "&simba:*"),
            ("NOPERM User app has no permissions to run the 'wait' command", Unauthorized, Unknown, "+wait"),
            (
                "NOPERM ACL failure in script: User app has no permissions to run the 'publish' command",
                Unauthorized,
                Unknown,
                "+publish",
            ),
            (
                "ERR The user executing the script can't publish to the channel mentioned in the command",
                Unauthorized,
                Unknown,
                "&simba:*",
            ),
            (
                "ERR The user executing the script can't run this command or subcommand",
                Unauthorized,
                Unknown,
                "+@write",
            ),
            (
                "ERR The user executing the script can't access at least one of the keys mentioned in the command",
                Unauthorized,
                Unknown,
                "~simba:*",
            ),
            ("READONLY You can't write against a read only replica.", ReadOnly, NotApplied, "master"),
            ("OOM command not allowed", ReadOnly, NotApplied, "maxmemory"),
            ("MISCONF Errors writing to the AOF file", ReadOnly, NotApplied, "disk"),
            ("NOREPLICAS Not enough good replicas to write.", ReadOnly, NotApplied, "min-replicas"),
            ("LOADING Redis is loading the dataset in memory", Unavailable, NotApplied, "for now"),
            ("BUSY Redis is busy running a script.", Unavailable, NotApplied, "for now"),
            ("CLUSTERDOWN Hash slot not served", Unavailable, NotApplied, "for now"),
            ("ERR max number of clients reached", Unavailable, NotApplied, "clients"),
            ("MOVED 3999 127.0.0.1:6381", Config, NotApplied, "redis+cluster://"),
            ("CROSSSLOT Keys in request don't hash to the same slot", Config, NotApplied, "redis+cluster://"),
            (
                "ERR unknown command 'EVALSHA', with args beginning with: 'x' ",
                Unsupported,
                NotApplied,
                "EVALSHA",
            ),
            ("ERR This instance has cluster support disabled", Config, NotApplied, "redis://host"),
            ("ERR DB index is out of range", Config, NotApplied, "databases"),
            ("WRONGTYPE Operation against a key", Corrupt, NotApplied, "prefix"),
            (
                "CORRUPT simba:lease:{n} has no token script: 3d0e, on @user_script:7.",
                Corrupt,
                NotApplied,
                "no token on",
            ),
            ("ERR something new", Unexpected, Unknown, "something new"),
        ];
        for (line, kind, outcome, part) in cases {
            let error = meaning("redis at db:6379", Failure::Failed(said(line)));
            assert_eq!((error.kind(), error.outcome()), (kind, outcome), "{line}");
            assert!(error.to_string().contains(part), "{line}: {error}");
            assert!(error.to_string().contains("redis at db:6379"), "{error}");
        }
        for (code, outcome) in [("READONLY", NotApplied), ("CLUSTERDOWN", Unknown), ("WRONGTYPE", Unknown)] {
            let error = meaning("x", Failure::Failed(said(&format!("{code} words {in_script}"))));
            assert_eq!(error.outcome(), outcome, "{code}");
        }
    }

    #[test]
    fn a_password_that_a_server_repeats_is_shown_nowhere() {
        let line = "ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'app' 's3cret' ";
        for failure in [Failure::NotConnected(said(line)), Failure::Failed(said(line))] {
            let error = meaning("redis at db:6379", failure);
            let shown = format!("{error} {error:?} {:?}", std::error::Error::source(&error));
            assert!(!shown.contains("s3cret") && shown.contains("HELLO"), "{shown}");
        }
    }

    #[test]
    fn what_was_not_sent_was_not_applied_and_what_was_may_have_been() {
        let refused = || RedisError::from(io::Error::from(io::ErrorKind::ConnectionRefused));
        let distrusted = RedisError::from(io::Error::new(io::ErrorKind::InvalidData, "UnknownIssuer"));
        let kept_back = RedisError::from((RedisErrorKind::AuthenticationFailed, "failed"));
        for (failure, kind, outcome) in [
            (Failure::NotConnected(refused()), Unavailable, NotApplied),
            (Failure::NotConnected(distrusted), Config, NotApplied),
            (Failure::NotConnected(kept_back), Unauthorized, NotApplied),
            (Failure::NotConnectedInTime, Timeout, NotApplied),
            (Failure::NotAnsweredInTime, Timeout, Unknown),
            (Failure::Failed(refused()), Unavailable, Unknown),
            (Failure::TooFewReplicas(1), Unavailable, Unknown),
        ] {
            let error = meaning("redis at db:6379", failure);
            assert_eq!((error.kind(), error.outcome()), (kind, outcome), "{error}");
        }
    }
}
