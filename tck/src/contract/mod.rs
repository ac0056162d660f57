//! The sentences of the contract, each with the situations that tell a backend which keeps it from one
//! that does not.
//!
//! A sentence gets a fixture that nobody has used yet, and panics if it is not kept.

pub mod error;
pub mod group;
pub mod hint;
pub mod lease;
pub mod load;
pub mod purge;
pub mod race;
pub mod session;

/// Hands every sentence to another macro of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! __sentences {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context
            session::s1_opening_gives_a_fresh_id_and_at_most_the_lease,
            session::s2_a_keep_alive_restores_the_lease_and_lists_what_is_held,
            session::s3_a_session_not_kept_alive_is_expired_and_never_revived,
            session::s4_closing_frees_everything_at_once_and_finishes_an_earlier_close,
            session::s5_metadata_comes_back_in_members_and_inspect,
            purge::s6_a_purge_removes_the_dead_and_never_a_token,
            session::s7_a_part_that_did_not_answer_is_unknown_not_lost,
            session::s8_a_keep_alive_never_moves_the_expiry_earlier,
            lease::l1_a_free_name_is_granted_with_a_token,
            lease::l2_tokens_rise_over_every_end_of_a_term,
            race::l3_of_racing_sessions_one_is_granted,
            lease::l4_a_held_name_says_so_and_for_how_long,
            lease::l5_the_holders_repeat_is_already_owned_with_the_same_token,
            lease::l6_a_release_frees_and_nothing_else_does,
            lease::l7_leases_of_an_expired_session_can_be_taken,
            lease::l8_names_are_distinct_to_the_last_character,
            lease::l9_a_batch_answers_for_each_name,
            lease::l10_no_clients_wall_clock_matters,
            race::l11_a_grant_that_was_never_heard_of_is_listed,
            race::l12_a_keep_alive_racing_a_take_over_wins_or_sees_the_lease_gone,
            race::l13_a_holder_that_opened_after_a_take_over_began_is_respected,
            race::l14_a_client_stopped_inside_an_acquire_holds_up_no_keep_alive,
            group::g1_who_has_joined_is_in_the_very_next_view,
            group::g2_leave_close_and_expiry_remove_a_member,
            group::g3_the_view_is_sorted_without_twins,
            hint::h1_a_release_is_hinted_within_a_second,
            hint::h2_after_a_reconnect_a_gap_says_look_again,
            hint::h3_dropped_hints_cost_latency_only,
            error::e1_a_storage_out_of_service_fails_in_time_with_the_right_outcome,
            error::e2_service_resumes_without_help,
            error::e3_misuse_is_an_error_that_says_what_to_do,
            load::c1_many_sessions_taking_many_names_see_no_error,
            load::c2_ten_thousand_leases_are_kept_alive_by_one_call,
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __names {
    (() $($part:ident::$sentence:ident,)*) => { &[$(stringify!($sentence)),*] };
}

/// The names of all sentences, in the contract's order.
pub const SENTENCES: &[&str] = crate::__sentences!(__names());
