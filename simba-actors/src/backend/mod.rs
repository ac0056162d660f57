//! The message face of one storage's keeper.

mod actor;
mod guarded;
mod hand_over;
mod messages;
mod requests;

pub(crate) use actor::{BackendActor, Board};
pub(crate) use guarded::guarded;
pub(crate) use hand_over::hand_over;
pub(crate) use messages::{
    Acquire, Close, Forget, HandOver, Inspect, LeaseNews, Release, Report, Resume, StandDown, Told,
};
pub(crate) use requests::Requests;
