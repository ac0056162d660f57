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
