//! Leases: what stands in the table is not trusted.

use super::*;
use crate::ErrorKind;

fn answer<'a>(answers: &'a [(LeaseName, Acquisition)], text: &str) -> &'a Acquisition {
    &answers.iter().find(|(name, _)| name.as_str() == text).unwrap().1
}

#[tokio::test]
async fn one_corrupt_row_fails_alone_and_is_left_as_it_is() {
    let home = Home::new();
    let backend = home.backend().await;
    let mut stranger = home.stranger().await;
    stranger
        .run("insert into simba_lease values ('zero', '', 0), ('minus', 'gone', -5), ('last', '', 9223372036854775807),
              ('shape', 'no session!', 3), ('long', printf('%.40c', 'x'), 3), ('good', 'gone', 3)")
        .await;
    let session = open(&backend, LONG).await;
    let corrupt = ["zero", "minus", "shape", "long", "last"];
    let answers =
        acquire(&backend, &session, &["zero", "minus", "shape", "long", "last", "good", "new"]).await;
    assert_eq!(answers.len(), 7);
    for name in corrupt {
        let Acquisition::Failed(error) = answer(&answers, name) else { panic!("{name}: {answers:?}") };
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("simba_lease") && error.to_string().contains(name), "{error}");
    }
    assert!(matches!(answer(&answers, "good"), Acquisition::Granted { token, .. } if token.get() == 4));
    assert!(matches!(answer(&answers, "new"), Acquisition::Granted { token, .. } if token.get() == 1));
    let untouched =
        "simba_lease where (name, session_id, token) in (values ('zero', '', 0), ('minus', 'gone', -5),
        ('shape', 'no session!', 3), ('last', '', 9223372036854775807))";
    eventually("untouched", async || stranger.count(untouched).await >= 3).await;
    assert!(backend.inspect(&name("zero")).await.is_err());
    assert!(backend.inspect(&name("shape")).await.is_err());
}

#[tokio::test]
async fn a_token_of_another_type_is_corrupt_and_its_holder_is_told_that_nobody_knows() {
    let home = Home::new();
    let mut stranger = home.stranger().await;
    stranger.run("create table simba_lease (name text primary key, session_id text default '', token)").await;
    let backend = home.backend().await;
    let session = open(&backend, LONG).await;
    granted(&backend, &session, "good").await;
    stranger
        .run(&format!("insert into simba_lease values ('bad', '{session}', 'seven'), ('worse', x'ff', 1)"))
        .await;
    let answers = acquire(&backend, &session, &["bad", "worse", "good"]).await;
    assert!(matches!(answer(&answers, "bad"), Acquisition::Failed(_)), "{answers:?}");
    assert!(matches!(answer(&answers, "worse"), Acquisition::Failed(_)), "{answers:?}");
    assert!(matches!(answer(&answers, "good"), Acquisition::AlreadyOwned { .. }), "{answers:?}");
    match backend.keep_alive(&session, LONG).await.unwrap() {
        KeepAlive::Live { owned, unknown, .. } => {
            assert_eq!((owned.len(), unknown), (1, vec![name("bad")]));
        }
        KeepAlive::Expired => panic!("it lives"),
    }
}

#[tokio::test]
async fn names_are_distinct_to_the_last_character() {
    let home = Home::new();
    let backend = home.backend().await;
    let session = open(&backend, LONG).await;
    let (x, y) = ("x".repeat(128), format!("{}y", "x".repeat(127)));
    let twins = ["Job", "job", "a.", "a:", "1", "01", "1.0", "1e0", "-1", "null", "true", &x, &y];
    let answers = acquire(&backend, &session, &twins).await;
    assert_eq!(answers.len(), twins.len());
    assert!(answers.iter().all(|(_, answer)| matches!(answer, Acquisition::Granted { .. })), "{answers:?}");
    let leases = owned(&backend, &session).await.unwrap();
    assert_eq!(leases.len(), twins.len());
    backend.release(&session, &leases[..1]).await.unwrap();
    assert_eq!(owned(&backend, &session).await.unwrap(), leases[1..]);
}

#[tokio::test]
async fn a_release_frees_that_session_and_token_only() {
    let home = Home::new();
    let backend = home.backend().await;
    let (a, b) = (open(&backend, LONG).await, open(&backend, LONG).await);
    let first = granted(&backend, &a, "a").await;
    backend.release(&a, &[(name("a"), first)]).await.unwrap();
    let second = granted(&backend, &a, "a").await;
    assert!(second > first);
    for (session, token) in [(&a, first), (&b, second)] {
        backend.release(session, &[(name("a"), token)]).await.unwrap();
        assert_eq!(owned(&backend, &a).await.unwrap(), [(name("a"), second)]);
    }
    backend.close_session(&a).await.unwrap();
    assert!(granted(&backend, &b, "a").await > second);
}

#[tokio::test]
async fn tokens_outlive_the_backend() {
    let home = Home::new();
    let mut last = 0;
    for _ in 0..3 {
        let backend = home.backend().await;
        let session = open(&backend, LONG).await;
        let token = granted(&backend, &session, "a").await.get();
        assert!(token > last);
        last = token;
        backend.close_session(&session).await.unwrap();
    }
}

#[tokio::test]
async fn of_many_that_race_for_a_batch_each_name_has_one_winner() {
    let home = Home::new();
    let names: Vec<_> = (0..50).map(|nth| name(&format!("n{nth}"))).collect();
    let mut racers = Vec::new();
    for _ in 0..8 {
        let (backend, names) = (home.backend().await, names.clone());
        racers.push(tokio::spawn(async move {
            let session = open(&backend, LONG).await;
            let Acquired::Answers(answers) = backend.acquire(&session, &names).await.unwrap() else {
                panic!()
            };
            assert_eq!(answers.len(), names.len());
            answers.into_iter().filter(|(_, answer)| matches!(answer, Acquisition::Granted { .. })).count()
        }));
    }
    let mut granted = 0;
    for racer in racers {
        granted += racer.await.unwrap();
    }
    assert_eq!(granted, names.len());
}
