//! Where a test keeps its leases.

use crate::scratch::Scratch;

/// The file of [`Storage::Sqlite`].
pub(crate) const SQLITE: &str = "simba.db";

pub(crate) enum Storage {
    Sqlite(Scratch),
}

impl Storage {
    pub(crate) async fn sqlite() -> Self {
        Self::Sqlite(Scratch::new())
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite(file) => file.url(SQLITE),
        }
    }
}

/// One test for each of the storages and each of the scenarios, which are functions of a storage.
macro_rules! on {
    ([$($storage:ident),*] $scenarios:tt) => { $(crate::storage::on!(@ $storage $scenarios);)* };
    (@ $storage:ident [$($scenario:ident),* $(,)?]) => {
        mod $storage {
            $(
                #[tokio::test]
                async fn $scenario() {
                    super::$scenario(crate::storage::Storage::$storage().await).await;
                }
            )*
        }
    };
}
pub(crate) use on;
