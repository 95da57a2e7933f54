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
    assert!(!auth.admits_local(&home.token()));
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
    let issued = auth.issue(&Principal::local()).await.unwrap();
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
    let by_login = auth.issue(&Principal::local()).await.unwrap();
    auth.replace_users(vec![user("ann", "ann")]).await.unwrap();
    assert!(by_token.over.is_cancelled());
    assert!(by_login.grant.over.is_cancelled());
    assert_eq!(principal(&auth, &home.token()), None);
    auth.replace_users(Vec::new()).await.unwrap();
    let again = auth.recognise(&home.token()).unwrap();
    assert!(!again.over.is_cancelled());
}

#[tokio::test]
async fn a_ticket_is_good_once() {
    let home = Home::new();
    let auth = home.open().await;
    let ticket = auth.ticket().unwrap();
    assert!(!auth.admits_local("another"));
    assert!(auth.admits_local(&ticket));
    assert!(!auth.admits_local(&ticket));
    assert!(auth.admits_local(&home.token()));
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
    let first = auth.issue(&Principal::local()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(3)).await;
    for _ in 0..100 {
        auth.issue(&Principal::local()).await.unwrap();
    }
    assert_eq!(principal(&auth, &first.secret), None);
}
