//! What a node's answer means for the way of a call.

use redis::{RedisError, ServerErrorKind};

use super::{super::node::Failure, address::Address};

/// Where a call that failed goes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The slot belongs to another node for good; which, unless the one that was asked does not know its name.
    Moved(Option<Address>),
    /// This once to another node, which is getting the slot.
    Ask(Option<Address>),
    /// Once more after a pause: the cluster is about to change, and what it would not do it has not begun.
    Pause,
    /// To the slot's owner, if that is another by now: nothing was sent.
    Reroute,
    /// Nowhere, but the node is in doubt.
    Suspect,
    /// Nowhere: the node has answered.
    Stop,
}

impl Step {
    /// After `failure` at a node of the host `asked`.
    pub(super) fn after(failure: &Failure, asked: &str) -> Self {
        match failure {
            Failure::NotConnected(_) | Failure::NotConnectedInTime => Self::Reroute,
            Failure::NotAnsweredInTime => Self::Suspect,
            Failure::TooFewReplicas(_) => Self::Stop,
            Failure::Failed(error) => Self::after_error(error, asked),
        }
    }

    fn after_error(error: &RedisError, asked: &str) -> Self {
        // A pipeline's error has no details of its own.
        let Some(errors) = error.clone().into_server_errors() else { return Self::Suspect };
        let Some((_, error)) = errors.first() else { return Self::Stop };
        let target = || Address::parse(error.details()?.split_ascii_whitespace().nth(1)?, asked);
        match error.kind() {
            Some(ServerErrorKind::Moved) => Self::Moved(target()),
            Some(ServerErrorKind::Ask) => Self::Ask(target()),
            Some(
                ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::BusyLoading
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly,
            ) => Self::Pause,
            Some(_) | None => Self::Stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the server says after a minus.
    fn said(line: &str) -> Failure {
        let answer = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        Failure::Failed(answer.extract_error().unwrap_err())
    }

    #[test]
    fn each_answer_has_its_next_step() {
        let at = |host, port| Some(Address::new(host, port));
        for (line, step) in [
            ("MOVED 3999 10.0.0.1:6381", Step::Moved(at("10.0.0.1", 6381))),
            ("MOVED 3999 :6381", Step::Moved(at("asked", 6381))),
            ("MOVED 3999 ?:6381", Step::Moved(None)),
            ("ASK 3999 n1:6381", Step::Ask(at("n1", 6381))),
            ("TRYAGAIN Multiple keys request during rehashing of slot", Step::Pause),
            ("CLUSTERDOWN The cluster is down", Step::Pause),
            ("LOADING Redis is loading the dataset in memory", Step::Pause),
            ("MASTERDOWN Link with MASTER is down", Step::Pause),
            ("READONLY You can't write against a read only replica.", Step::Pause),
            ("CROSSSLOT Keys in request don't hash to the same slot", Step::Stop),
            ("OOM command not allowed", Step::Stop),
        ] {
            assert_eq!(Step::after(&said(line), "asked"), step, "{line}");
        }
    }

    #[test]
    fn what_was_not_sent_may_go_elsewhere_and_what_was_may_not() {
        let broken = || RedisError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert_eq!(Step::after(&Failure::NotConnected(broken()), "h"), Step::Reroute);
        assert_eq!(Step::after(&Failure::Failed(broken()), "h"), Step::Suspect);
        assert_eq!(Step::after(&Failure::NotConnectedInTime, "h"), Step::Reroute);
        assert_eq!(Step::after(&Failure::NotAnsweredInTime, "h"), Step::Suspect);
        assert_eq!(Step::after(&Failure::TooFewReplicas(0), "h"), Step::Stop);
    }
}
