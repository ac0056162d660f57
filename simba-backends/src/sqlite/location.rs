//! Where the file is: a path or a `sqlite:` URL, made absolute once.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use crate::BackendError;

/// The absolute path that a path or URL names, in an existing directory.
///
/// Absolute, so that a later change of the working directory does not change the file, and so that SQLite
/// never takes it for one of its own `file:` URIs.
pub(super) fn resolve(given: &Path) -> Result<PathBuf, BackendError> {
    let path = match given.to_str().and_then(|text| text.strip_prefix("sqlite:")) {
        Some(rest) => from_url(rest)?,
        None => given.to_owned(),
    };
    if path.as_os_str().is_empty() {
        return Err(BackendError::config(
            "a sqlite storage needs a file: write sqlite://relative.db or sqlite:///absolute.db",
        ));
    }
    if path == Path::new(":memory:") {
        return Err(BackendError::config(
            "a sqlite storage in memory would be another one for each connection: use memory:",
        ));
    }
    let path = std::path::absolute(&path).map_err(|error| {
        BackendError::config(format!("no absolute path for {}", path.display())).with_source(error)
    })?;
    check(&path)?;
    Ok(path)
}

fn from_url(rest: &str) -> Result<PathBuf, BackendError> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if let Some((_, parameters)) = path.split_once('?') {
        return Err(BackendError::config(format!(
            "unknown parameters {parameters:?} in a sqlite: URL: it takes none (write %3F for a question \
             mark of the path, and use SqliteBackend::builder for settings)"
        )));
    }
    Ok(PathBuf::from(OsString::from_vec(decoded(path)?)))
}

fn decoded(text: &str) -> Result<Vec<u8>, BackendError> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let byte = byte.filter(|byte| *byte != 0).ok_or_else(|| {
            BackendError::config("a % in a sqlite: URL begins a byte of two hexadecimal digits: write %25")
        })?;
        bytes.push(byte);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    Ok(bytes)
}

/// Says what SQLite would only call "unable to open database file".
pub(super) fn check(path: &Path) -> Result<(), BackendError> {
    if path.to_str().is_none_or(|text| text.contains('\0')) {
        return Err(BackendError::config(format!("{} is no UTF-8 path: rename it", path.display())));
    }
    if path.is_dir() {
        return Err(BackendError::config(format!(
            "{} is a directory: name a file in it, such as {}",
            path.display(),
            path.join("simba.db").display()
        )));
    }
    match path.parent() {
        Some(directory) if !directory.is_dir() => Err(BackendError::config(format!(
            "the directory {} of the sqlite file {} does not exist: create it",
            directory.display(),
            path.display()
        ))),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_relative_or_absolute_place_is_an_absolute_path() {
        let here = std::env::current_dir().unwrap();
        for given in ["sqlite://a%20b.db", "sqlite:a b.db", "sqlite:./a b.db", "a b.db"] {
            assert_eq!(resolve(Path::new(given)).unwrap(), here.join("a b.db"), "{given}");
        }
        for given in ["sqlite:///a%3Fb.db", "sqlite:/a?b.db".replace('?', "%3f").as_str(), "/a?b.db"] {
            assert_eq!(resolve(Path::new(given)).unwrap(), Path::new("/a?b.db"), "{given}");
        }
    }
}
