//! R12: every kind of error at every call site once. No election ends idle without a timer.

use super::*;
use simba_backends::Acquisition;

const KINDS: [ErrorKind; 9] = [
    ErrorKind::Unavailable,
    ErrorKind::Timeout,
    ErrorKind::ReadOnly,
    ErrorKind::Unauthorized,
    ErrorKind::Schema,
    ErrorKind::Corrupt,
    ErrorKind::Unsupported,
    ErrorKind::Config,
    ErrorKind::Unexpected,
];

fn each_error(check: impl Fn(BackendError)) {
    for kind in KINDS {
        for outcome in [Outcome::NotApplied, Outcome::Unknown] {
            check(BackendError::new(kind, outcome, "no"));
        }
    }
}

/// Lets the storage work from now on: whoever contends for `a` leads within a lease.
fn leads_in_the_end(bench: &mut Bench, next: u64) {
    for _ in 0..100 {
        let in_flight = bench.in_flight();
        let told = match in_flight.first() {
            Some(&"open") => bench.opened(),
            Some(&"keep-alive") => bench.kept_alive(&[]),
            Some(&"acquire") => bench.acquired("a", granted(next)),
            Some(&"release") => bench.released(),
            Some(_) => bench.closed(),
            None => bench.pass_to_next(),
        };
        if told.iter().any(|line| line.starts_with(&format!("a#{next} started"))) {
            return;
        }
    }
    panic!("nobody leads");
}

#[test]
fn r12_the_open_fails() {
    each_error(|error| {
        let mut bench = Bench::new();
        bench.contend("a");
        bench.fail("open", error);
        leads_in_the_end(&mut bench, 7);
    });
}

#[test]
fn r12_the_attempt_fails() {
    each_error(|error| {
        let mut bench = Bench::live();
        bench.contend("a");
        bench.fail("acquire", error);
        leads_in_the_end(&mut bench, 7);
    });
}

#[test]
fn r12_the_name_fails_in_its_attempt() {
    each_error(|error| {
        let mut bench = Bench::live();
        bench.contend("a");
        bench.acquired("a", Acquisition::Failed(error));
        leads_in_the_end(&mut bench, 7);
    });
}

#[test]
fn r12_the_keep_alive_fails_and_the_term_goes_on() {
    each_error(|error| {
        let mut bench = Bench::leading();
        bench.pass(5_000);
        bench.fail("keep-alive", error);
        bench.pass(100);
        assert_eq!(bench.kept_alive(&[("a", 7)]), ["resumed", "a#7 extended until 19900"]);
    });
}

#[test]
fn r12_the_release_fails() {
    each_error(|error| {
        let mut bench = Bench::leading();
        bench.lapsed("a", 7);
        bench.fail("release", error);
        leads_in_the_end(&mut bench, 8);
    });
}

#[test]
fn r12_the_close_of_an_expired_session_fails() {
    each_error(|error| {
        let mut bench = Bench::leading();
        bench.stall(15_000);
        bench.tick();
        bench.fail("close", error);
        leads_in_the_end(&mut bench, 8);
    });
}

#[test]
fn r12_the_last_close_fails() {
    each_error(|error| {
        let mut bench = Bench::live();
        bench.close();
        bench.fail("close", error);
        bench.pass(100);
        assert_eq!(bench.closed(), ["closed []"]);
    });
}
