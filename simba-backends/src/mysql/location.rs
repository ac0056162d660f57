//! Where the server is: a `mysql:` or `mariadb:` URL.

use sqlx::mysql::MySqlConnectOptions;

use crate::{BackendError, url::UrlForm};

const FORM: UrlForm = UrlForm {
    storage: "mysql",
    schemes: &["mysql", "mariadb"],
    example: "mysql://user:password@host:3306/database",
    parameters: &[
        "ssl-mode", "sslmode", "ssl-ca", "sslca", "ssl-cert", "sslcert", "ssl-key", "sslkey", "socket",
    ],
};

/// The driver's options for a URL.
pub(super) fn parse(url: &str) -> Result<MySqlConnectOptions, BackendError> {
    FORM.check(url)?;
    url.parse().map_err(|error| FORM.unreadable().with_source(error))
}

/// The server and its database, without a secret.
pub(super) fn place(options: &MySqlConnectOptions) -> String {
    let (user, database) = (options.get_username(), options.get_database().unwrap_or_default());
    match options.get_socket() {
        Some(socket) => format!("mysql://{user}@{}/{database}", socket.display()),
        None => format!("mysql://{user}@{}:{}/{database}", options.get_host(), options.get_port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_leads_to_a_place_that_shows_no_password() {
        for (url, expected) in [
            ("mysql://u:p@db.example/app", "mysql://u@db.example:3306/app"),
            ("mariadb://u:p%2F%40@db.example:3307/app?ssl-mode=REQUIRED", "mysql://u@db.example:3307/app"),
            ("mysql://u:p@localhost/app?socket=/run/mysqld.sock", "mysql://u@/run/mysqld.sock/app"),
        ] {
            assert_eq!(place(&parse(url).unwrap()), expected);
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_without_a_word_of_it() {
        for url in [
            "mysql:db.example/app",
            "mysql://u:12/hidden@db.example/app",
            "mysql://u:12#hidden@db.example/app",
            "mysql://u:12?hidden@db.example/app",
            "mysql://u:hid@den@db.example/app",
            "mysql://u:hidden/db.example/app",
            "mysql://u:hidden@db.example/app?sslmod=REQUIRED",
            "mysql://u:hidden@db.example/app?ssl-mode=maybe",
            "mysql://u:hidden@db.example:port/app",
        ] {
            let error = parse(url).unwrap_err();
            let shown = format!("{error} {error:?} {:?}", std::error::Error::source(&error));
            assert!(!shown.contains("hid") && !shown.contains("den"), "{url}: {shown}");
        }
    }
}
