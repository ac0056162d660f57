use std::{cell::Cell, future::pending, pin::pin};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn term_of(name: &str, token: u64, clock: Clock, valid: Duration) -> Term {
    let token = Token::new(token).unwrap();
    Term::start(name.parse().unwrap(), token, "s1".parse().unwrap(), clock, clock.now() + valid)
}

fn term() -> Term {
    term_of("job", 7, Clock::tokio(), 10 * SECOND)
}

async fn pass(time: Duration) {
    tokio::time::advance(time).await;
}

#[test]
fn a_term_crosses_threads() {
    fn crosses<T: Clone + Send + Sync + fmt::Debug + 'static>() {}
    crosses::<Term>();
}

#[tokio::test(start_paused = true)]
async fn validity_ends_with_the_deadline_before_anybody_is_told() {
    let term = term();
    pass(9 * SECOND).await;
    assert_eq!((term.is_valid(), term.remaining(), term.reason()), (true, SECOND, None));
    pass(SECOND).await;
    assert_eq!((term.is_valid(), term.remaining()), (false, Duration::ZERO));
    assert_eq!(term.reason(), Some(Reason::Deadline));
}

#[tokio::test(start_paused = true)]
async fn errors_tell_what_was_left_and_needed() {
    let term = term();
    pass(9 * SECOND).await;
    assert_eq!(term.ensure_valid(SECOND), Ok(()));
    let too_short = term.ensure_valid(2 * SECOND).unwrap_err();
    assert_eq!(too_short.to_string(), "term of job with token 7 is valid for 1s; 2s were needed");
    term.end(Reason::LeaseLost);
    let ended = term.ensure_valid(SECOND).unwrap_err();
    assert_eq!(ended.to_string(), "term of job with token 7 has ended: lease_lost; 1s were needed");
}

#[tokio::test(start_paused = true)]
async fn everyone_who_waits_is_told_the_reason_of_the_end() {
    let term = term();
    let waiter = tokio::spawn({
        let term = term.clone();
        async move { term.revoked().await }
    });
    tokio::task::yield_now().await;
    term.freeze(Reason::SteppedDown);
    assert_eq!(waiter.await.unwrap(), Reason::SteppedDown);
    assert_eq!(term.revoked().await, Reason::SteppedDown);
    assert_eq!(term.hand_over_remaining(), 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn work_that_completes_in_time_gives_its_output() {
    assert_eq!(term().run(async { 5 }).await, Ok(5));
}

#[tokio::test(start_paused = true)]
async fn work_is_dropped_at_the_deadline_with_nobody_telling() {
    let term = term();
    let clock = Clock::tokio();
    assert_eq!(term.run(pending::<()>()).await, Err(Reason::Deadline));
    let late = clock.now().since_origin() - 10 * SECOND;
    assert!(late <= SECOND / 100, "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn extended_work_goes_on_until_the_new_deadline() {
    let (term, clock) = (term(), Clock::tokio());
    let mut run = pin!(term.run(pending::<()>()));
    assert!(tokio::time::timeout(9 * SECOND, &mut run).await.is_err());
    term.extend(clock.now(), clock.now() + 10 * SECOND).unwrap();
    assert!(tokio::time::timeout(9 * SECOND, &mut run).await.is_err());
    assert_eq!(run.await, Err(Reason::Deadline));
}

#[tokio::test(start_paused = true)]
async fn work_of_an_ended_term_is_never_polled() {
    let (term, polled) = (term(), Cell::new(false));
    term.end(Reason::SessionExpired);
    assert_eq!(term.run(async { polled.set(true) }).await, Err(Reason::SessionExpired));
    assert!(!polled.get());
}

#[tokio::test(start_paused = true)]
async fn work_woken_after_the_deadline_is_dropped_without_another_poll() {
    let (term, polls) = (term(), Cell::new(0));
    let (wake, woken) = tokio::sync::oneshot::channel();
    let work = async {
        polls.set(1);
        let _ = woken.await;
        polls.set(2);
    };
    let mut run = pin!(term.run(work));
    assert!(tokio::time::timeout(Duration::ZERO, &mut run).await.is_err());
    wake.send(()).unwrap();
    pass(10 * SECOND).await;
    assert_eq!(run.await, Err(Reason::Deadline));
    assert_eq!(polls.get(), 1);
}

/// The clock jumps while the timers stand still, as in a suspend.
#[tokio::test(start_paused = true)]
async fn a_deadline_that_passed_while_timers_stood_still_is_noticed_at_the_next_look() {
    let term = term_of("job", 7, Clock::Boot, Duration::from_millis(20));
    let timers = Clock::tokio();
    let mut run = pin!(term.run(pending::<()>()));
    let first = poll_fn(|cx| Poll::Ready(run.as_mut().poll(cx))).await;
    assert!(first.is_pending());
    while term.is_valid() {
        std::hint::spin_loop();
    }
    assert_eq!(run.await, Err(Reason::Deadline));
    assert!(timers.now().since_origin() <= LOOK);
}
