//! The door as a whole, on a real database.

use super::*;
use crate::store;
use std::net::Ipv4Addr;
use tempfile::TempDir;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

struct Home {
    data: TempDir,
    config: Config,
    stop: CancellationToken,
}

impl Home {
    fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let config = Config::for_test("/", data.path());
        Self { data, config, stop: CancellationToken::new() }
    }

    fn with_users(names: &[&str]) -> Self {
        let mut home = Self::new();
        home.config.users = names.iter().map(|name| user(name, name)).collect();
        home
    }

    async fn open(&self) -> Arc<Auth> {
        let store = Store::open(&self.data.path().join(store::FILE), |_, _| ()).unwrap();
        Auth::open(&self.config, store, &self.stop).await.unwrap()
    }

    fn token(&self) -> String {
        local_token(self.data.path()).unwrap()
    }
}

fn user(name: &str, password: &str) -> User {
    User { name: name.to_owned(), password: hash_password(password).unwrap() }
}

fn principal(auth: &Auth, secret: &str) -> Option<String> {
    auth.recognise(secret).map(|grant| grant.principal.as_str().to_owned())
}

#[tokio::test]
async fn without_users_the_token_is_the_local_users_secret() {
    let home = Home::new();
    let auth = home.open().await;
    assert_eq!(principal(&auth, &home.token()).as_deref(), Some("local"));
    assert_eq!(principal(&auth, "").as_deref(), None);
    assert_eq!(principal(&auth, &home.token()[1..]).as_deref(), None);
    let issued = auth.login(HERE, "local", &home.token()).await.unwrap();
    assert_ne!(issued.secret, home.token());
    assert_eq!(principal(&auth, &issued.secret).as_deref(), Some("local"));
    assert!(matches!(auth.login(HERE, "ann", &home.token()).await, Err(LoginError::Wrong)));
}

#[tokio::test]
async fn with_users_the_token_lets_nobody_in() {
    let home = Home::with_users(&["ann", "bob"]);
    let auth = home.open().await;
    assert_eq!(principal(&auth, &home.token()), None);
    assert!(auth.is_operator(&home.token()));
    assert!(auth.admit_local(&home.token()).await.unwrap().is_none());
    assert!(matches!(auth.login(HERE, "local", &home.token()).await, Err(LoginError::Wrong)));
    assert!(matches!(auth.login(HERE, "ann", "bob").await, Err(LoginError::Wrong)));
    let issued = auth.login(HERE, "ann", "ann").await.unwrap();
    assert_eq!(principal(&auth, &issued.secret).as_deref(), Some("ann"));
}

#[tokio::test]
async fn logins_outlive_a_restart_but_not_a_logout() {
    let home = Home::with_users(&["ann"]);
    let (kept, dropped) = {
        let auth = home.open().await;
        let kept = auth.login(HERE, "ann", "ann").await.unwrap();
        let dropped = auth.login(HERE, "ann", "ann").await.unwrap();
        auth.revoke(&dropped.grant).await.unwrap();
        assert!(dropped.grant.over.is_cancelled());
        assert!(!kept.grant.over.is_cancelled());
        (kept.secret, dropped.secret)
    };
    let auth = home.open().await;
    assert_eq!(principal(&auth, &kept).as_deref(), Some("ann"));
    assert_eq!(principal(&auth, &dropped), None);
}

#[tokio::test]
async fn an_expired_login_is_over() {
    let mut home = Home::new();
    home.config.login.lifetime = Duration::from_millis(1);
    let auth = home.open().await;
    let issued = auth.admit_local(&home.token()).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(principal(&auth, &issued.secret), None);
    assert!(!issued.grant.over.is_cancelled());
    auth.tidy().await.unwrap();
    assert!(issued.grant.over.is_cancelled());
}

#[tokio::test]
async fn a_changed_user_has_to_log_in_anew() {
    let home = Home::with_users(&["ann", "bob", "cat"]);
    let auth = home.open().await;
    let mut grants = Vec::new();
    for name in ["ann", "bob", "cat"] {
        grants.push(auth.login(HERE, name, name).await.unwrap());
    }
    let cat = home.config.users[2].clone();
    auth.replace_users(vec![user("ann", "new"), cat]).await.unwrap();
    let over: Vec<_> = grants.iter().map(|issued| issued.grant.over.is_cancelled()).collect();
    assert_eq!(over, [true, true, false]);
    assert!(auth.login(HERE, "ann", "new").await.is_ok());
    assert!(matches!(auth.login(HERE, "bob", "bob").await, Err(LoginError::Wrong)));
}

#[tokio::test]
async fn the_first_user_ends_the_local_one() {
    let home = Home::new();
    let auth = home.open().await;
    let by_token = auth.recognise(&home.token()).unwrap();
    let by_login = auth.admit_local(&home.token()).await.unwrap().unwrap();
    auth.replace_users(vec![user("ann", "ann")]).await.unwrap();
    assert!(by_token.over.is_cancelled());
    assert!(by_login.grant.over.is_cancelled());
    assert_eq!(principal(&auth, &home.token()), None);
    auth.replace_users(Vec::new()).await.unwrap();
    let again = auth.recognise(&home.token()).unwrap();
    assert!(!again.over.is_cancelled());
}

#[tokio::test]
async fn what_changes_while_no_gateway_runs_ends_logins_too() {
    let mut home = Home::with_users(&["ann", "bob"]);
    let (ann, bob) = {
        let auth = home.open().await;
        (
            auth.login(HERE, "ann", "ann").await.unwrap(),
            auth.login(HERE, "bob", "bob").await.unwrap(),
        )
    };
    home.config.users[0] = user("ann", "another");
    let auth = home.open().await;
    assert_eq!(principal(&auth, &ann.secret), None);
    assert_eq!(principal(&auth, &bob.secret).as_deref(), Some("bob"));
    drop(auth);
    // Removed and added again with the same password: another hash, so another login.
    home.config.users = vec![user("bob", "bob")];
    let auth = home.open().await;
    assert_eq!(principal(&auth, &bob.secret), None);
}

#[tokio::test]
async fn a_new_token_file_ends_the_logins_of_the_old_one() {
    let home = Home::new();
    let secret = home.open().await.login(HERE, "local", &home.token()).await.unwrap().secret;
    std::fs::remove_file(home.data.path().join(TOKEN_FILE)).unwrap();
    let auth = home.open().await;
    assert_eq!(principal(&auth, &secret), None);
}

#[tokio::test]
async fn a_user_called_local_does_not_inherit_logins() {
    let mut home = Home::new();
    let secret = home.open().await.login(HERE, "local", &home.token()).await.unwrap().secret;
    home.config.users = vec![user("local", "a password")];
    let auth = home.open().await;
    assert_eq!(principal(&auth, &secret), None);
}

#[tokio::test]
async fn a_login_on_its_way_does_not_survive_its_user() {
    let home = Home::with_users(&["ann"]);
    let auth = home.open().await;
    let logins = (0..4).map(|_| auth.login(HERE, "ann", "ann"));
    let remove = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        auth.replace_users(vec![user("bob", "bob")]).await.unwrap();
    };
    let (answers, ()) = tokio::join!(futures_util::future::join_all(logins), remove);
    for issued in answers.into_iter().flatten() {
        assert_eq!(principal(&auth, &issued.secret), None);
    }
}

#[tokio::test]
async fn all_logins_of_somebody_can_be_ended_with_and_without_a_gateway() {
    let home = Home::with_users(&["ann", "bob"]);
    let auth = home.open().await;
    let one = auth.login(HERE, "ann", "ann").await.unwrap();
    let other = auth.login(HERE, "bob", "bob").await.unwrap();
    assert_eq!(auth.revoke_all(&Principal::new("ann")).await.unwrap(), 1);
    assert!(one.grant.over.is_cancelled() && !other.grant.over.is_cancelled());
    drop(auth);
    assert_eq!(end_logins(home.data.path(), &Principal::new("bob")).await.unwrap(), 1);
    assert_eq!(principal(&*home.open().await, &other.secret), None);
}

#[tokio::test]
async fn a_ticket_is_good_once() {
    let home = Home::new();
    let auth = home.open().await;
    let ticket = auth.ticket().unwrap();
    assert!(auth.admit_local("another").await.unwrap().is_none());
    assert!(auth.admit_local(&ticket).await.unwrap().is_some());
    assert!(auth.admit_local(&ticket).await.unwrap().is_none());
    assert!(auth.admit_local(&home.token()).await.unwrap().is_some());
}

#[tokio::test]
async fn guesses_are_slowed_down_also_all_at_once() {
    let home = Home::new();
    let auth = home.open().await;
    let guesses = (0..40).map(|_| auth.login(HERE, "local", "guess"));
    let answers = futures_util::future::join_all(guesses).await;
    let tried = answers.iter().filter(|answer| matches!(answer, Err(LoginError::Wrong))).count();
    assert_eq!(tried, 5);
    let held = auth.login(HERE, "local", &home.token()).await;
    assert!(matches!(held, Err(LoginError::TooMany { .. })), "{held:?}");
    let elsewhere = IpAddr::from([127, 0, 0, 2]);
    assert!(auth.login(elsewhere, "local", &home.token()).await.is_ok());
}

#[tokio::test]
async fn old_logins_of_one_person_make_room() {
    let home = Home::new();
    let auth = home.open().await;
    let first = auth.admit_local(&home.token()).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(3)).await;
    for _ in 0..100 {
        auth.admit_local(&home.token()).await.unwrap().unwrap();
    }
    assert_eq!(principal(&auth, &first.secret), None);
}
