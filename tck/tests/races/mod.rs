//! The sentences that hold with several calls under way, for a fixture that differs in what these meet.

macro_rules! all_races {
    ($module:ident, $fixture:ty) => {
        all_races! {
            $module, $fixture,
            session::s3_a_session_not_kept_alive_is_expired_and_never_revived,
            session::s8_a_keep_alive_never_moves_the_expiry_earlier,
            race::l3_of_racing_sessions_one_is_granted,
            race::l12_a_keep_alive_racing_a_take_over_wins_or_sees_the_lease_gone,
            race::l13_a_holder_that_opened_after_a_take_over_began_is_respected,
            race::l14_a_client_stopped_inside_an_acquire_holds_up_no_keep_alive,
        }
    };
    ($module:ident, $fixture:ty, $($part:ident::$sentence:ident,)*) => {
        mod $module {
            use super::*;
            $(
                #[test]
                fn $sentence() {
                    simba_tck::run::<$fixture>(|fixture| {
                        Box::pin(simba_tck::contract::$part::$sentence(fixture))
                    });
                }
            )*
        }
    };
}
