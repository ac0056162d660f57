//! The races again, where the server's default isolation is another one.

use simba_servers::Options;
use simba_tck::{
    contract::{race, session},
    run,
};

use crate::fixture::{Server, Way};

struct RepeatableRead;

impl Way for RepeatableRead {
    fn options() -> Options {
        Options::new().set("default_transaction_isolation", "repeatable read")
    }
}

struct Serializable;

impl Way for Serializable {
    fn options() -> Options {
        Options::new().set("default_transaction_isolation", "serializable")
    }
}

macro_rules! races {
    ($module:ident, $way:ty, $($part:ident::$sentence:ident,)*) => {
        mod $module {
            use super::*;
            $(
                #[test]
                fn $sentence() {
                    run::<Server<$way>>(|fixture| Box::pin($part::$sentence(fixture)));
                }
            )*
        }
    };
}

macro_rules! all_races {
    ($module:ident, $way:ty) => {
        races! {
            $module, $way,
            session::s3_a_session_not_kept_alive_is_expired_and_never_revived,
            session::s8_a_keep_alive_never_moves_the_expiry_earlier,
            race::l3_of_racing_sessions_one_is_granted,
            race::l12_a_keep_alive_racing_a_take_over_wins_or_sees_the_lease_gone,
            race::l13_a_holder_that_opened_after_a_take_over_began_is_respected,
            race::l14_a_client_stopped_inside_an_acquire_holds_up_no_keep_alive,
        }
    };
}

all_races!(repeatable_read, RepeatableRead);
all_races!(serializable, Serializable);
