//! Many sessions, many leases.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_backends_with_two_hundred_names_each_see_no_error() {
    let home = Home::new();
    let mut tasks = Vec::new();
    for nth in 0..64 {
        let backend = home.backend().await;
        tasks.push(tokio::spawn(async move {
            let session = open(&backend, LONG).await;
            for lease in 0..200 {
                granted(&backend, &session, &format!("{nth}-{lease}")).await;
            }
            assert_eq!(owned(&backend, &session).await.unwrap().len(), 200);
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_sessions_of_one_backend_see_no_error() {
    let home = Home::new();
    let backend = home.backend().await;
    let mut tasks = Vec::new();
    for nth in 0..64 {
        let backend = backend.clone();
        tasks.push(tokio::spawn(async move {
            let session = open(&backend, LONG).await;
            let names: Vec<_> = (0..200).map(|lease| format!("{nth}-{lease}")).collect();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let answers = acquire(&backend, &session, &names).await;
            assert!(answers.iter().all(|(_, answer)| matches!(answer, Acquisition::Granted { .. })));
            assert_eq!(owned(&backend, &session).await.unwrap().len(), 200);
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn ten_thousand_leases_on_one_session_are_one_keep_alive() {
    let home = Home::new();
    let backend = home.backend().await;
    let session = open(&backend, LONG).await;
    let names: Vec<_> = (0..10_000).map(|nth| name(&format!("lease-{nth}"))).collect();
    let Acquired::Answers(answers) = backend.acquire(&session, &names).await.unwrap() else { panic!() };
    assert_eq!(answers.len(), 10_000);
    let owned = owned(&backend, &session).await.unwrap();
    assert_eq!(owned.len(), 10_000);
    backend.release(&session, &owned[..5_000]).await.unwrap();
    backend.close_session(&session).await.unwrap();
    assert_eq!(home.stranger().await.count("simba_lease where session_id = ''").await, 10_000);
}

#[test]
fn a_runtime_that_ends_in_the_middle_of_calls_leaves_the_backend_usable() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let home = Home::new();
    let first = runtime();
    let (backend, session, mut stranger) = first.block_on(async {
        let backend = home.backend().await;
        let session = open(&backend, LONG).await;
        let mut stranger = home.stranger().await;
        stranger.run("begin immediate").await;
        for text in ["a", "b", "c"] {
            let (backend, session) = (backend.clone(), session.clone());
            tokio::spawn(async move { backend.acquire(&session, &[name(text)]).await });
        }
        let keep_alive = tokio::time::timeout(Duration::from_millis(100), owned(&backend, &session)).await;
        assert!(keep_alive.is_err());
        (backend, session, stranger)
    });
    drop(first);
    runtime().block_on(async {
        stranger.run("commit").await;
        granted(&backend, &session, "d").await;
        let owned = owned(&backend, &session).await.unwrap();
        assert!(owned.iter().any(|(name, _)| name.as_str() == "d"), "{owned:?}");
        backend.close_session(&session).await.unwrap();
    });
}

#[tokio::test]
async fn a_runtime_that_stalls_while_it_reads_an_answer_holds_no_lock() {
    let home = Home::new();
    let backend = home.backend().await;
    let session = open(&backend, LONG).await;
    let options = SqliteConnectOptions::new().filename(home.file()).busy_timeout(Duration::from_millis(700));
    let writer = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut stranger = Stranger(options.connect().await.unwrap());
            while stranger.count("simba_lease where name = 'end'").await == 0 {
                stranger.run("begin immediate; commit").await;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
    });
    let names: Vec<_> = (0..1000).map(|nth| name(&format!("lease-{nth}"))).collect();
    let mut acquiring = std::pin::pin!(backend.acquire(&session, &names));
    loop {
        tokio::select! {
            biased;
            answer = &mut acquiring => { answer.unwrap(); break; }
            () = tokio::task::yield_now() => std::thread::sleep(Duration::from_millis(50)),
        }
    }
    granted(&backend, &session, "end").await;
    writer.await.unwrap();
}
