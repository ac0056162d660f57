//! The races again, where the server's default isolation is another one than the usual repeatable read.

use simba_servers::Options;
use simba_tck::{
    contract::{race, session},
    run,
};

use crate::fixture::{Server, Settings};

struct ReadCommitted;

impl Settings for ReadCommitted {
    fn options() -> Options {
        Options::new().set("transaction_isolation", "READ-COMMITTED")
    }
}

struct Serializable;

impl Settings for Serializable {
    fn options() -> Options {
        Options::new().set("transaction_isolation", "SERIALIZABLE")
    }
}

macro_rules! races {
    ($module:ident, $settings:ty, $($part:ident::$sentence:ident,)*) => {
        mod $module {
            use super::*;
            $(
                #[test]
                fn $sentence() {
                    run::<Server<$settings>>(|fixture| Box::pin($part::$sentence(fixture)));
                }
            )*
        }
    };
}

macro_rules! all_races {
    ($module:ident, $settings:ty) => {
        races! {
            $module, $settings,
            session::s3_a_session_not_kept_alive_is_expired_and_never_revived,
            session::s8_a_keep_alive_never_moves_the_expiry_earlier,
            race::l3_of_racing_sessions_one_is_granted,
            race::l12_a_keep_alive_racing_a_take_over_wins_or_sees_the_lease_gone,
            race::l13_a_holder_that_opened_after_a_take_over_began_is_respected,
            race::l14_a_client_stopped_inside_an_acquire_holds_up_no_keep_alive,
        }
    };
}

all_races!(read_committed, ReadCommitted);
all_races!(serializable, Serializable);
