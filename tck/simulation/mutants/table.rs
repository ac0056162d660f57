// The mutants: engines with one rule left out, each of which the seeds must catch.
// Shared by the build script, which makes them, and the tests, which run them.

/// An engine with one rule left out.
#[allow(dead_code, reason = "the build script and the tests use different parts")]
struct Mutant {
    name: &'static str,
    /// The rule, or the section of the design.
    rule: &'static str,
    /// What is left out.
    without: &'static str,
    edits: &'static [Edit],
    runs: Runs,
}

/// The runs in which the mutant can be told from the engine.
#[allow(dead_code, reason = "the build script makes them, the tests run them")]
enum Runs {
    AsPlanned,
    LostWrites,
    ClockStep,
}

/// A text that occurs exactly once in a file of the engine, and what stands there instead.
#[allow(dead_code, reason = "the build script makes the edits, the tests read the names")]
struct Edit {
    file: &'static str,
    find: &'static str,
    replace: &'static str,
}

const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "deadline_of_a_keep_alive_counted_from_its_reply",
        rule: "section 4",
        without: "a keep-alive vouches from when its answer is handled",
        edits: &[
            Edit {
                file: "session.rs",
                find: "let valid_until = self.timing.valid_until(sent_at, remaining);",
                replace: "let valid_until = self.timing.valid_until(self.now, remaining);",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "deadline_of_a_grant_counted_from_its_reply",
        rule: "section 4",
        without: "a grant vouches from when its answer is handled",
        edits: &[
            Edit {
                file: "attempt.rs",
                find: "let valid_until = self.timing.valid_until(sent_at, remaining);",
                replace: "let valid_until = self.timing.valid_until(self.now, remaining);",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "no_drift",
        rule: "section 4",
        without: "validity makes no allowance for clocks that run wrong",
        edits: &[
            Edit {
                file: "timing.rs",
                find: "let drift = remaining * self.drift_ppm / 1_000_000;",
                replace: "let drift = Duration::ZERO;",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "no_margin",
        rule: "section 4",
        without: "validity lasts to the last nanosecond of the lease",
        edits: &[
            Edit {
                file: "timing.rs",
                find: ".saturating_sub(self.margin)",
                replace: "",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "floor_not_kept",
        rule: "R1",
        without: "a token at or below the floor starts a term",
        edits: &[
            Edit {
                file: "ownership.rs",
                find: "let is_new = Some(token) > floor;",
                replace: "let is_new = true;",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "released_token_adopted_again",
        rule: "R1",
        without: "the decision to release raises no floor",
        edits: &[
            Edit {
                file: "release.rs",
                find: "        self.floors.raise(name, token);\n",
                replace: "",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "run_out_token_adopted_again",
        rule: "R1",
        without: "a term that ran out locally is neither released nor below the floor",
        edits: &[
            Edit {
                file: "ownership.rs",
                find: "        self.end(name, Reason::Deadline);\n        self.release(name, token);",
                replace: "        self.end(name, Reason::Deadline);\n        self.contend_again(name);",
            },
            Edit {
                file: "ownership.rs",
                find: "let is_new = Some(token) > floor;",
                replace: "let is_new = Some(token) >= floor;",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "inputs_before_due_deadlines",
        rule: "R2",
        without: "an answer is applied before the deadlines that passed",
        edits: &[
            Edit {
                file: "mod.rs",
                find: "self.fire_due();\n        self.apply(input);",
                replace: "self.apply(input);",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "lapse_ignored",
        rule: "R2",
        without: "a term whose deadline another thread saw pass goes on",
        edits: &[
            Edit {
                file: "ownership.rs",
                find: "held.token == token && held.hand_over.is_none()) {\n            self.run_out(name);",
                replace: "held.token == token && held.hand_over.is_none()) {",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "deadline_moves_back",
        rule: "R2",
        without: "an older answer shortens a deadline that a newer one gave",
        edits: &[
            Edit {
                file: "session.rs",
                find: "held.hand_over.is_none() && valid_until > held.valid_until",
                replace: "held.hand_over.is_none()",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "ended_twice",
        rule: "R3",
        without: "a hand-over that is cut short is revoked a second time",
        edits: &[
            Edit {
                file: "ownership.rs",
                find: "self.emit(Effect::Overdue { name: name.clone(), token });\n        } else {",
                replace: "self.emit(Effect::Ended { name: name.clone(), token, reason });\n        } else {",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "hand_over_extended",
        rule: "R4",
        without: "keep-alives extend a term that is handed over",
        edits: &[
            Edit {
                file: "session.rs",
                find: "held.hand_over.is_none() && valid_until > held.valid_until",
                replace: "valid_until > held.valid_until",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "released_before_the_handler_ended",
        rule: "R4",
        without: "the release goes out with the word that the term ends",
        edits: &[
            Edit {
                file: "ownership.rs",
                find: "reason, hand_over_by: by });",
                replace: "reason, hand_over_by: by });\n        self.handed_over(name, token);",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "closed_before_the_handlers_ended",
        rule: "R4",
        without: "close does not wait for the hand-overs",
        edits: &[
            Edit {
                file: "closing.rs",
                find: "self.closing.is_some() && !self.leases.values().any(|lease| lease.held().is_some())",
                replace: "self.closing.is_some()",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "expired_session_closed_before_its_terms_end",
        rule: "R4",
        without: "the close overtakes the word that the terms end",
        edits: &[
            Edit {
                file: "session.rs",
                find: "        self.drop_releases();\n        self.in_doubt.clear();",
                replace: "        self.send(Call::Close { session: live.id.clone() });\n        self.drop_releases();\n        self.in_doubt.clear();",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "grant_after_stop_delivered",
        rule: "R5",
        without: "a grant starts a term although nobody wants it any more",
        edits: &[
            Edit {
                file: "ownership.rs",
                find: "let wanted = lease.wanted.is_some() && !lease.stands_out && self.closing.is_none();",
                replace: "let wanted = !lease.stands_out && self.closing.is_none();",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "grant_after_step_down_delivered",
        rule: "R5",
        without: "a grant starts a term although the name stands out",
        edits: &[
            Edit {
                file: "ownership.rs",
                find: "let wanted = lease.wanted.is_some() && !lease.stands_out && self.closing.is_none();",
                replace: "let wanted = lease.wanted.is_some() && self.closing.is_none();",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "settled_while_in_doubt",
        rule: "R5",
        without: "a withdrawal is confirmed although nobody knows what became of the attempt",
        edits: &[
            Edit {
                file: "lease.rs",
                find: "!self.releases.pending(name) && !self.in_doubt.contains_key(name)\n",
                replace: "!self.releases.pending(name)\n",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "settled_while_releasing",
        rule: "R5",
        without: "a withdrawal is confirmed before the release",
        edits: &[
            Edit {
                file: "lease.rs",
                find: "!self.releases.pending(name) && !self.in_doubt.contains_key(name)\n",
                replace: "!self.in_doubt.contains_key(name)\n",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "settled_while_asked_for",
        rule: "R5",
        without: "a withdrawal is confirmed while an attempt of the name is on its way",
        edits: &[
            Edit {
                file: "lease.rs",
                find: "if quiet && !asked_for {",
                replace: "if quiet {",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "unknown_settles_a_doubt",
        rule: "R5",
        without: "a name that a list left open counts as told",
        edits: &[
            Edit {
                file: "session.rs",
                find: "*doubted < ticket && !unknown.contains(name));",
                replace: "{ let _ = name; *doubted < ticket });",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "owned_list_at_face_value",
        rule: "R6",
        without: "a list ends terms that started after the keep-alive was sent",
        edits: &[
            Edit {
                file: "session.rs",
                find: "held.ticket < ticket && !is_listed",
                replace: "!is_listed",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "ownership_by_name",
        rule: "R6",
        without: "a listed name is taken for the token that is held",
        edits: &[
            Edit {
                file: "ownership.rs",
                find: "is_some_and(|held| held.token == token)\n    }",
                replace: "is_some_and(|_| token >= Token::MIN)\n    }",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "unknown_taken_as_loss",
        rule: "R6",
        without: "a name that a list left open is lost",
        edits: &[
            Edit {
                file: "session.rs",
                find: " && !unknown.contains(name)\n            }",
                replace: "\n            }",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "held_taken_as_loss",
        rule: "R6",
        without: "an answer that another holds the name ends the term",
        edits: &[
            Edit {
                file: "attempt.rs",
                find: "        let Some(attempt) = self.end_attempt(call, name) else { return };\n        if let Some(free_in)",
                replace: "        let Some(attempt) = self.end_attempt(call, name) else {\n            return self.end(name, super::Reason::LeaseLost);\n        };\n        if let Some(free_in)",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "listed_orphans_not_released",
        rule: "R7",
        without: "a listed lease that nobody here knows is left alone",
        edits: &[
            Edit {
                file: "session.rs",
                find: "            } else {\n                self.claim_listed(name, *token, valid_until);\n            }",
                replace: "            }",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "unwanted_grants_not_released",
        rule: "R7",
        without: "a lease that may not start a term is left alone",
        edits: &[
            Edit {
                file: "ownership.rs",
                find: "        } else {\n            self.release(name, token);\n        }",
                replace: "        }",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "already_owned_taken_as_granted",
        rule: "R7",
        without: "AlreadyOwned counts as a fresh grant",
        edits: &[
            Edit {
                file: "attempt.rs",
                find: "self.end_attempt(call, name);\n                self.claim_listed(name, token, self.timing.valid_until(sent_at, remaining));",
                replace: "let floor = self.end_attempt(call, name).and_then(|attempt| attempt.floor);\n                self.claim_granted(name, token, self.timing.valid_until(sent_at, remaining), floor);",
            },
        ],
        runs: Runs::LostWrites,
    },
    Mutant {
        name: "term_from_a_passed_deadline",
        rule: "R7",
        without: "a term starts although its deadline has passed",
        edits: &[
            Edit {
                file: "ownership.rs",
                find: "is_new && valid_until > self.now && self.may_start(name)",
                replace: "is_new && self.may_start(name)",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "attempt_beside_its_release",
        rule: "R7",
        without: "a name is asked for while its release is pending",
        edits: &[
            Edit {
                file: "attempt.rs",
                find: "if self.releases.pending(&name) {",
                replace: "if false {",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "failed_release_forgotten",
        rule: "R7",
        without: "a release that failed is not sent again",
        edits: &[
            Edit {
                file: "release.rs",
                find: "        self.timers.set(Timer::Release(name.clone(), token), self.now + pause);\n",
                replace: "",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "attempt_without_answer_not_asked_about",
        rule: "R8",
        without: "no keep-alive out of turn follows an attempt without answer",
        edits: &[
            Edit {
                file: "attempt.rs",
                find: "        self.in_doubt.insert(name.clone(), ticket);\n        self.doubt();\n",
                replace: "        self.in_doubt.insert(name.clone(), ticket);\n",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "two_keep_alives",
        rule: "R9",
        without: "a second keep-alive is sent while one is in flight",
        edits: &[
            Edit {
                file: "session.rs",
                find: "if self.closing.is_some() || self.calls.keep_alive.is_some() {",
                replace: "if self.closing.is_some() {",
            },
            Edit {
                file: "session.rs",
                find: "live.failures == 0 && self.calls.keep_alive.is_none()",
                replace: "live.failures == 0",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "reply_of_an_old_session_accepted",
        rule: "R10",
        without: "the calls of a session that is no more are still listened to",
        edits: &[
            Edit {
                file: "call.rs",
                find: "            self.calls.take(id);\n            self.timers.cancel(&Timer::CallTimeout(id));\n            self.emit(Effect::Abandon(id));",
                replace: "            if let Some(kept) = self.calls.take(id) {\n                self.calls.in_flight.insert(id, kept);\n            }\n            self.timers.cancel(&Timer::CallTimeout(id));\n            self.emit(Effect::Abandon(id));",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "session_counted_from_the_reply",
        rule: "R11",
        without: "a session counts as expired a lease after its last answer",
        edits: &[
            Edit {
                file: "session.rs",
                find: "self.timers.set(Timer::SessionLost, sent_at + timing.lease);",
                replace: "self.timers.set(Timer::SessionLost, now + timing.lease);",
            },
            Edit {
                file: "session.rs",
                find: "if live.confirmed_at + lease <= now {",
                replace: "if false {",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "terms_outlive_their_session",
        rule: "R11",
        without: "the end of the session ends no term",
        edits: &[
            Edit {
                file: "session.rs",
                find: "            self.end(&name, Reason::SessionExpired);\n",
                replace: "",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "expired_session_asked",
        rule: "R11",
        without: "a keep-alive is sent for a session that counts as expired",
        edits: &[
            Edit {
                file: "session.rs",
                find: "if live.confirmed_at + lease <= now {",
                replace: "if false {",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "calls_without_time_out",
        rule: "R12",
        without: "a call is waited for for ever",
        edits: &[
            Edit {
                file: "call.rs",
                find: "        self.timers.set(Timer::CallTimeout(id), self.now + self.timing.call_timeout);\n",
                replace: "",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "failed_attempt_without_timer",
        rule: "R12",
        without: "a candidate whose attempt failed has no timer",
        edits: &[
            Edit {
                file: "attempt.rs",
                find: "            self.timers.set(Timer::Retry(name.clone()), self.now + pause);\n",
                replace: "",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "failed_open_without_timer",
        rule: "R12",
        without: "a session whose opening failed is not opened again",
        edits: &[
            Edit {
                file: "session.rs",
                find: "        self.timers.set(Timer::Open, self.now + self.timing.backoff(failures));\n",
                replace: "",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "lost_lease_not_contended_for",
        rule: "R12",
        without: "a term that was lost is the last one",
        edits: &[
            Edit {
                file: "session.rs",
                find: "            self.end(&name, Reason::LeaseLost);\n            self.contend_again(&name);",
                replace: "            self.end(&name, Reason::LeaseLost);",
            },
        ],
        runs: Runs::LostWrites,
    },
    Mutant {
        name: "new_calls_while_closing",
        rule: "R14",
        without: "keep-alives go on after close",
        edits: &[
            Edit {
                file: "session.rs",
                find: "if self.closing.is_some() || self.calls.keep_alive.is_some() {",
                replace: "if self.calls.keep_alive.is_some() {",
            },
            Edit {
                file: "closing.rs",
                find: "        self.timers.cancel(&Timer::Renew);\n",
                replace: "",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "close_waits_for_ever",
        rule: "R14",
        without: "close has no time limit",
        edits: &[
            Edit {
                file: "closing.rs",
                find: "        self.timers.set(Timer::CloseBy, last_hand_over.max(last_call) + self.timing.call_timeout);\n",
                replace: "",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "late_session_left_open",
        rule: "R14",
        without: "a session whose opening is answered late is not closed",
        edits: &[
            Edit {
                file: "call.rs",
                find: "                self.send(Call::Close { session: opened.session });\n",
                replace: "                let _ = opened;\n",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "close_keeps_quiet",
        rule: "R14",
        without: "close does not name what may still be held",
        edits: &[
            Edit {
                file: "closing.rs",
                find: "self.releases.names().chain(self.in_doubt.keys())",
                replace: "self.releases.names()",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "free_earlier_than_said",
        rule: "R14",
        without: "close counts from the last confirmed keep-alive",
        edits: &[
            Edit {
                file: "closing.rs",
                find: "self.live().map(|_| self.now + lease + lease * drift_ppm / 1_000_000)",
                replace: "self.live().map(|live| live.confirmed_at + lease + lease * (drift_ppm * 0) / 1_000_000)",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "stepped_down_contends_at_once",
        rule: "R17",
        without: "a name that stands out is asked for",
        edits: &[
            Edit {
                file: "lease.rs",
                find: "let wants = lease.wanted.is_some() && !lease.stands_out && self.closing.is_none();",
                replace: "let wants = lease.wanted.is_some() && self.closing.is_none();",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "stepped_down_for_good",
        rule: "R17",
        without: "nobody comes back from a stand-down",
        edits: &[
            Edit {
                file: "lease.rs",
                find: "        self.timers.set(Timer::ComeBack(name.clone()), self.now + stay_out);\n",
                replace: "",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "second_withdrawal_postpones_the_first",
        rule: "R17",
        without: "who asks again keeps everybody waiting",
        edits: &[
            Edit {
                file: "lease.rs",
                find: "self.timers.set_earlier(Timer::Settle(name.clone()), by);",
                replace: "self.timers.set(Timer::Settle(name.clone()), by);",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "settled_in_the_middle_of_a_term",
        rule: "R17",
        without: "a withdrawal of an earlier term is answered during the next",
        edits: &[
            Edit {
                file: "ownership.rs",
                find: "        self.settled(name, false);\n",
                replace: "",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "floor_of_today",
        rule: "R19",
        without: "a grant is compared with the floor as it is now",
        edits: &[
            Edit {
                file: "attempt.rs",
                find: "self.claim_granted(name, token, valid_until, attempt.floor);",
                replace: "self.claim_granted(name, token, valid_until, self.floors.get(name));",
            },
        ],
        runs: Runs::AsPlanned,
    },
    Mutant {
        name: "regression_kept_quiet",
        rule: "R19",
        without: "tokens that regressed start terms without a word",
        edits: &[
            Edit {
                file: "ownership.rs",
                find: "            self.notice(Notice::TokenRegressed { name: name.clone(), token, floor });\n",
                replace: "            let _ = floor;\n",
            },
        ],
        runs: Runs::LostWrites,
    },
    Mutant {
        name: "clock_step_kept_quiet",
        rule: "R20",
        without: "a difference of the clocks is not told",
        edits: &[
            Edit {
                file: "session.rs",
                find: "if local.abs_diff(server) <= tolerance {",
                replace: "if local.abs_diff(server) <= Duration::MAX {",
            },
        ],
        runs: Runs::ClockStep,
    },
    Mutant {
        name: "clock_alarm_without_round_trip",
        rule: "R20",
        without: "round trips count as a difference of the clocks",
        edits: &[
            Edit {
                file: "session.rs",
                find: "let tolerance = round_trip + sent_at.until(now) + drift + CLOCK_TOLERANCE;",
                replace: "let tolerance = round_trip * 0 + drift;",
            },
        ],
        runs: Runs::AsPlanned,
    },
];
