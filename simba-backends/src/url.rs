//! The URL of a server, looked at before the driver does: it would take half a password for a host, and ignore
//! a word that it does not know, say a misspelt wish for TLS.

use crate::BackendError;

/// What the URLs of a kind of server can say.
pub(crate) struct UrlForm {
    /// As users write it.
    pub(crate) storage: &'static str,
    pub(crate) schemes: &'static [&'static str],
    pub(crate) example: &'static str,
    pub(crate) parameters: &'static [&'static str],
}

impl UrlForm {
    /// Says what is wrong with a URL. No error repeats any part of it that could be a password.
    pub(crate) fn check(&self, url: &str) -> Result<(), BackendError> {
        let storage = self.storage;
        let rest = self.schemes.iter().find_map(|scheme| url.strip_prefix(scheme)?.strip_prefix("://"));
        let Some(rest) = rest else {
            let example = self.example;
            return Err(BackendError::config(format!("a {storage} storage needs a URL: write {example}")));
        };
        let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if tail.contains(['@', '#']) || authority.matches('@').count() > 1 {
            return Err(BackendError::config(format!(
                "the URL of a {storage} storage is ambiguous: in a password write %2F for /, %3F for ?, %23 for \
                 # and %40 for @"
            )));
        }
        let parameters = tail.split_once('?').map_or("", |(_, parameters)| parameters);
        let mut names = parameters.split('&').filter_map(|part| part.split('=').next());
        if names.any(|name| !name.is_empty() && !self.parameters.contains(&name)) {
            let known = if self.parameters.is_empty() { "none".into() } else { self.parameters.join(", ") };
            return Err(BackendError::config(format!(
                "an unknown parameter in the URL of a {storage} storage: it takes {known}"
            )));
        }
        Ok(())
    }

    /// The error for a URL that cannot be read further on.
    pub(crate) fn unreadable(&self) -> BackendError {
        let Self { storage, example, .. } = self;
        BackendError::config(format!(
            "the URL of a {storage} storage cannot be read: write {example}, and values as the server's own \
             clients have them"
        ))
    }
}

#[cfg(any(feature = "redis", feature = "zookeeper"))]
/// With each `%` and two digits replaced by the byte that they say.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            u8::try_from(digit()? * 16 + digit()?).ok()?
        } else {
            byte
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}
