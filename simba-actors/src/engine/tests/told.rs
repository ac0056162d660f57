//! Effects as lines of a log.

use crate::engine::{Call, Effect, Notice};

pub(super) fn told(effect: &Effect) -> String {
    match effect {
        Effect::Call { call, .. } => format!("call {}", asked(call)),
        Effect::Abandon(_) => "abandon".to_owned(),
        Effect::Started { name, token, valid_until, .. } => {
            format!("{name}#{token} started until {}", valid_until.since_origin().as_millis())
        }
        Effect::Extended { name, token, valid_until } => {
            format!("{name}#{token} extended until {}", valid_until.since_origin().as_millis())
        }
        Effect::Ending { name, token, reason, hand_over_by } => {
            format!("{name}#{token} ending: {reason} by {}", hand_over_by.since_origin().as_millis())
        }
        Effect::Ended { name, token, reason } => format!("{name}#{token} ended: {reason}"),
        Effect::Overdue { name, token } => format!("{name}#{token} overdue"),
        Effect::Refused { name, .. } => format!("{name} refused"),
        Effect::Failed { name, .. } => format!("{name} failed"),
        Effect::Settled { name, confirmed: true } => format!("{name} settled"),
        Effect::Settled { name, confirmed: false } => format!("{name} unsettled"),
        Effect::Watch(name) => format!("watch {name}"),
        Effect::Unwatch(name) => format!("unwatch {name}"),
        Effect::Notice(notice) => noticed(notice),
        Effect::Closed { unfreed, free_at } => match free_at {
            None => format!("closed {unfreed:?}"),
            Some(at) => format!("closed {unfreed:?} free at {}", at.since_origin().as_millis()),
        },
    }
}

fn asked(call: &Call) -> String {
    match call {
        Call::Open { .. } => "open".to_owned(),
        Call::KeepAlive { session } => format!("keep-alive {session}"),
        Call::Acquire { names, .. } if names.len() > 9 => format!("acquire {} names", names.len()),
        Call::Acquire { names, .. } => {
            names.iter().fold("acquire".to_owned(), |said, name| format!("{said} {name}"))
        }
        Call::Release { leases, .. } if leases.len() > 9 => format!("release {} leases", leases.len()),
        Call::Release { leases, .. } => {
            leases.iter().fold("release".to_owned(), |said, (name, token)| format!("{said} {name}#{token}"))
        }
        Call::Close { session } => format!("close {session}"),
    }
}

fn noticed(notice: &Notice) -> String {
    match notice {
        Notice::SessionOpened { session } => format!("opened {session}"),
        Notice::OpenFailed { failures, .. } => format!("open failed {failures}"),
        Notice::RenewFailed { failures, .. } => format!("renew failed {failures}"),
        Notice::Suspended { remaining } => format!("suspended {}", remaining.as_millis()),
        Notice::Resumed => "resumed".to_owned(),
        Notice::SessionExpired { session } => format!("expired {session}"),
        Notice::Released { name, token } => format!("{name}#{token} released"),
        Notice::TokenRegressed { name, token, floor } => format!("{name}#{token} regressed below {floor}"),
        Notice::ClockStep { .. } => "clock step".to_owned(),
    }
}
