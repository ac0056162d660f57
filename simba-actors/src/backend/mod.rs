//! The message face of one storage's keeper.

mod actor;
mod messages;

pub(crate) use actor::{BackendActor, Board};
pub(crate) use messages::{
    Acquire, Close, Forget, HandOver, Inspect, LeaseNews, Release, Report, Resume, StandDown, Told,
};
