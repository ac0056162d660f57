//! What cannot work is refused with a text that says what to do.

use std::time::Duration;

use simba_actors::{Simba, SimbaConfig};

use crate::fixture::{MS, World, seconds, virtually};

#[test]
fn names_that_not_every_storage_can_keep_are_refused() {
    virtually(async {
        let simba = World::new().simba().await;
        let long = "x".repeat(129);
        let table = [
            ("", "use 1 to 128 characters of [A-Za-z0-9._:-]"),
            (long.as_str(), "of 129 characters is too long: use at most 128"),
            ("a b", "' ' at position 1 cannot be in a name: use only [A-Za-z0-9._:-]"),
            ("a/b", "'/' at position 1"),
            (".", "reserved by storages with paths"),
            ("..", "reserved by storages with paths"),
            ("zürich", "'ü' at position 1"),
        ];
        for (name, says) in table {
            let election = simba.election(name).map(drop).unwrap_err().to_string();
            let lock = simba.lock(name).map(drop).unwrap_err().to_string();
            assert!(election.contains(says) && lock == election, "{name:?}: {election}");
        }
        assert!(simba.lock("x".repeat(128)).is_ok());
        assert!(simba.election(String::from("a.b_c:d-E9")).is_ok());
    });
}

#[test]
fn durations_that_cannot_hold_are_refused() {
    let config = SimbaConfig::builder;
    let table = [
        (config().lease(Duration::ZERO), "choose between 100ms and 86400s"),
        (
            config().lease(seconds(3)).renew(seconds(2)),
            "choose renew of at most 1.5s, or lease of at least 4s",
        ),
        (
            config().lease(seconds(3)).margin(seconds(3)),
            "choose a longer lease, or a shorter renew or margin",
        ),
        (config().drift(1.0), "choose at least 0 and less than 0.5"),
        (config().call_timeout(seconds(60)), "choose at most 5s, the renew interval"),
        (config().min_backoff(MS / 2), "choose at least 1ms, or leave it out"),
        (config().metadata("m".repeat(1_025)), "use at most 1024"),
    ];
    for (builder, says) in table {
        let text = builder.build().unwrap_err().to_string();
        assert!(text.contains(says), "{text}");
    }
}

#[tokio::test]
async fn urls_that_lead_nowhere_are_refused_at_once() {
    let table = [
        ("", "starts with one of memory:"),
        ("simba.db", "starts with one of memory:"),
        ("etcd://host", "no storage has the URL scheme \"etcd\": use one of memory:"),
    ];
    for (url, says) in table {
        let text = Simba::connect(url).await.map(drop).unwrap_err().to_string();
        assert!(text.contains(says), "{url}: {text}");
    }
    let text = Simba::builder().connect().await.map(drop).unwrap_err().to_string();
    assert_eq!(text, "no storage was given: call url() or backend() on the builder");
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn files_that_are_no_storage_are_refused_at_once() {
    let fresh = |name: &str| {
        let directory = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let path = directory.join(format!("{name}-{}", std::process::id()));
        // From an earlier run.
        let _ = std::fs::remove_file(&path);
        path
    };
    let text_file = fresh("text");
    std::fs::write(&text_file, "no database, but long enough to be looked at by the storage ".repeat(100))
        .unwrap();
    let missing = fresh("missing").join("deeper").join("simba.db");
    for (path, says) in [(&missing, "simba.db"), (&text_file, "text")] {
        let url = format!("sqlite://{}", path.display());
        let text = Simba::connect(&url).await.map(drop).unwrap_err().to_string();
        assert!(text.contains(says), "{url}: {text}");
    }
    std::fs::remove_file(text_file).unwrap();
}

#[cfg(not(feature = "sqlite"))]
#[tokio::test]
async fn a_storage_that_this_build_lacks_is_refused_by_the_name_of_its_feature() {
    let text = Simba::connect("sqlite://x.db").await.map(drop).unwrap_err().to_string();
    assert!(text.contains("add the cargo feature \"sqlite\""), "{text}");
}
