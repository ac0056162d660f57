//! MySQL does what its verbs say.

mod family;

use simba_servers::Flavour;

family::tests!(Flavour::MySql);
