//! Who may come in. Without configured users there is one, `local`, whose secret is the token file; with users
//! there are names and passwords. Either way a login ends in a grant that expires and can be taken back.
//! Knows nothing of HTTP.

mod failures;
mod grant;
mod password;
mod secret;
mod token_file;

pub use grant::{Grant, Issued};
pub use password::hash as hash_password;
pub use token_file::{TOKEN_FILE, TokenError, local_token};

use crate::config::{Config, User};
use crate::message::Principal;
use crate::store::{Store, StoreError};
use failures::Failures;
use grant::Grants;
use secret::Digest;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Passwords that are checked at the same time: each takes a core and 19 MiB for a moment.
const CHECKS: usize = 2;
/// Logins that wait for their check. Full: the next one is told to come later.
const WAITING: usize = 16;
/// Nobody types more; a longer text is only work for us.
const LONGEST_PASSWORD: usize = 1024;

/// The door of one gateway.
#[derive(Debug)]
pub struct Auth {
    /// Of the token file: the local user's secret, and the operator's where there are users.
    token: Digest,
    users: RwLock<Arc<[User]>>,
    grants: Grants,
    /// What the token file is worth; ends when users appear.
    local: RwLock<Grant>,
    /// Good for one login, for the browser that we open ourselves.
    ticket: Mutex<Option<Digest>>,
    failures: Mutex<Failures>,
    waiting: Semaphore,
    checks: Semaphore,
}

#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a login did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error("wrong name or password")]
    Wrong,
    #[error("too many failed logins, try again in {} s", wait.as_secs().max(1))]
    TooMany { wait: Duration },
    #[error("too many logins at once, try again in a moment")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Auth {
    /// Reads the token file, or makes it, and the grants of earlier logins. They end with `stop`.
    pub async fn open(
        config: &Config,
        store: Store,
        stop: &CancellationToken,
    ) -> Result<Arc<Self>, AuthError> {
        let token = Digest::of(&local_token(&config.data)?);
        let grants = Grants::load(store, config.login.lifetime, stop.clone()).await?;
        let auth = Self {
            token,
            users: RwLock::new(config.users.clone().into()),
            local: RwLock::new(grants.permanent(&Principal::local())),
            grants,
            ticket: Mutex::new(None),
            failures: Mutex::new(Failures::new(config.login.attempts)),
            waiting: Semaphore::new(WAITING),
            checks: Semaphore::new(CHECKS),
        };
        auth.forget_strangers().await?;
        Ok(Arc::new(auth))
    }

    /// Whose secret this is: a login's, or the local user's token.
    pub fn recognise(&self, secret: &str) -> Option<Grant> {
        let digest = Digest::of(secret);
        if digest == self.token {
            return (!self.has_users()).then(|| read(&self.local).clone());
        }
        self.grants.find(&digest)
    }

    /// Something that opens the door once, to be handed to another program in a way that others may see.
    pub fn ticket(&self) -> io::Result<String> {
        let ticket = secret::random()?;
        *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) = Some(Digest::of(&ticket));
        Ok(ticket)
    }

    /// Whether this lets the local user in: the token, or the ticket, which is used up by it.
    pub fn admits_local(&self, secret: &str) -> bool {
        if self.has_users() {
            return false;
        }
        let digest = Digest::of(secret);
        let mut ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        digest == self.token || ticket.take_if(|ticket| *ticket == digest).is_some()
    }

    /// Whether this is the content of the token file.
    pub fn is_operator(&self, secret: &str) -> bool {
        Digest::of(secret) == self.token
    }

    pub fn has_users(&self) -> bool {
        !self.users().is_empty()
    }

    /// The local user's password is the token.
    pub async fn login(
        &self,
        from: IpAddr,
        name: &str,
        password: &str,
    ) -> Result<Issued, LoginError> {
        // Counted before the check, so that a thousand guesses at once are a thousand guesses.
        self.failures().begin(from, name, Instant::now()).map_err(|wait| {
            warn!(%from, "login refused: too many failures");
            LoginError::TooMany { wait }
        })?;
        if !self.is_right(name, password).await? {
            info!(%from, "login failed");
            return Err(LoginError::Wrong);
        }
        self.failures().succeeded(from, name);
        info!(%from, user = name, "login");
        Ok(self.issue(&Principal::new(name)).await?)
    }

    /// A new grant for somebody who has shown who they are.
    pub async fn issue(&self, principal: &Principal) -> Result<Issued, StoreError> {
        self.grants.issue(principal).await
    }

    /// Ends the grant, and the connections that came in with it.
    pub async fn revoke(&self, grant: &Grant) -> Result<(), StoreError> {
        self.grants.revoke(grant).await
    }

    /// Takes the users of a changed configuration. Who is not among them, or has another password, has to log in anew.
    pub async fn replace_users(&self, users: Vec<User>) -> Result<(), StoreError> {
        let before = std::mem::replace(&mut *write(&self.users), users.into());
        let now = self.users();
        if !now.is_empty() {
            let next = self.grants.permanent(&Principal::local());
            std::mem::replace(&mut *write(&self.local), next).over.cancel();
        }
        for old in before.iter().filter(|old| !now.contains(old)) {
            self.grants.revoke_all(&Principal::new(&old.name)).await?;
        }
        self.forget_strangers().await
    }

    /// Ends what has expired; called now and then.
    pub async fn tidy(&self) -> Result<(), StoreError> {
        self.failures().forget_old(Instant::now());
        self.grants.drop_expired().await
    }

    /// Grants of people who are not users any more.
    async fn forget_strangers(&self) -> Result<(), StoreError> {
        let users = self.users();
        let known = |principal: &Principal| match &*users {
            [] => *principal == Principal::local(),
            users => users.iter().any(|user| user.name == principal.as_str()),
        };
        self.grants.retain(known).await
    }

    async fn is_right(&self, name: &str, password: &str) -> Result<bool, LoginError> {
        let users = self.users();
        if users.is_empty() {
            return Ok(name == Principal::local().as_str() && self.is_operator(password));
        }
        if password.len() > LONGEST_PASSWORD {
            return Ok(false);
        }
        let _waiting = self.waiting.try_acquire().map_err(|_| LoginError::Busy)?;
        let _check = self.checks.acquire().await.map_err(|_| LoginError::Busy)?;
        let hash = users.iter().find(|user| user.name == name).map(|user| user.password.clone());
        let password = password.to_owned();
        let checked = tokio::task::spawn_blocking(move || password::is_right(&password, hash));
        Ok(checked.await.unwrap_or(false))
    }

    fn users(&self) -> Arc<[User]> {
        Arc::clone(&read(&self.users))
    }

    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nothing panics while one of these locks is held, so what a poisoned one guards is still right.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
