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
use crate::message::{Principal, SentSessionId, SessionId};
use crate::store::{self, Store, StoreError};
use failures::Failures;
use grant::Grants;
use secret::Digest;
use std::io;
use std::net::IpAddr;
use std::path::Path;
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
pub const LONGEST_PASSWORD: usize = 1024;
/// The browser that we open needs seconds for it.
const TICKET_LIFE: Duration = Duration::from_secs(60);

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
    ticket: Mutex<Option<(Digest, Instant)>>,
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

/// Ends all logins of one person in a data directory that no gateway uses; returns how many there were.
pub async fn end_logins(data: &Path, principal: &Principal) -> Result<usize, StoreError> {
    let store = Store::open(&data.join(store::FILE), |_, _| ())?;
    let tokens = store.tokens().await?;
    let theirs = tokens.into_iter().filter(|token| token.principal == *principal);
    let digests: Vec<_> = theirs.map(|token| token.digest).collect();
    let count = digests.len();
    store.drop_tokens(digests).await?;
    store.close().await;
    Ok(count)
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
        auth.forget_changed().await?;
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
        *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Digest::of(&ticket), Instant::now()));
        Ok(ticket)
    }

    fn admits_local(&self, secret: &str) -> bool {
        if self.has_users() {
            return false;
        }
        let digest = Digest::of(secret);
        let mut ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |(known, since): &mut (Digest, Instant)| {
            *known == digest && since.elapsed() < TICKET_LIFE
        };
        digest == self.token || ticket.take_if(fits).is_some()
    }

    /// The session that is meant. An original id stands for one of this person's own, always the same: the page that has
    /// it in its address uses it again after every reload. Nobody else can know the id that it stands for.
    pub fn session(&self, principal: &Principal, name: SentSessionId) -> SessionId {
        match name {
            SentSessionId::Ours(id) => id,
            SentSessionId::Original(original) => {
                let parts = [principal.as_str(), original.as_str()];
                SessionId::from_random(self.token.derive("original session", &parts))
            }
        }
    }

    /// Whether this is the content of the token file.
    pub fn is_operator(&self, secret: &str) -> bool {
        Digest::of(secret) == self.token
    }

    pub fn has_users(&self) -> bool {
        !self.users().is_empty()
    }

    pub fn user_count(&self) -> usize {
        self.users().len()
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
        let Some(shown) = self.check(name, password).await? else {
            info!(%from, "login failed");
            return Err(LoginError::Wrong);
        };
        let principal = Principal::new(name);
        let issued = self.grants.issue(&principal, shown).await?;
        // The user may have been removed, or the password changed, while it was checked.
        if self.required(&principal) != Some(shown) {
            self.grants.revoke(&issued.grant).await?;
            return Err(LoginError::Wrong);
        }
        self.failures().succeeded(from, name);
        info!(%from, user = name, "login");
        Ok(issued)
    }

    /// A login for whoever has the token, or the ticket, which is used up by it. `None`: it is neither.
    pub async fn admit_local(&self, secret: &str) -> Result<Option<Issued>, StoreError> {
        let admitted = self.admits_local(secret);
        let principal = Principal::local();
        match self.required(&principal).filter(|_| admitted) {
            Some(shown) => self.grants.issue(&principal, shown).await.map(Some),
            None => Ok(None),
        }
    }

    /// Ends the grant, and the connections that came in with it.
    pub async fn revoke(&self, grant: &Grant) -> Result<(), StoreError> {
        self.grants.revoke(grant).await
    }

    /// Ends all logins of one person; returns how many there were.
    pub async fn revoke_all(&self, principal: &Principal) -> Result<usize, StoreError> {
        self.grants.revoke_all(principal).await
    }

    /// Takes the users of a changed configuration. Who is not among them, or has another password, has to log in anew.
    /// That holds at once, also if it cannot be stored: at the next start they are compared again.
    pub async fn replace_users(&self, users: Vec<User>) -> Result<(), StoreError> {
        *write(&self.users) = users.into();
        if self.has_users() {
            let next = self.grants.permanent(&Principal::local());
            std::mem::replace(&mut *write(&self.local), next).over.cancel();
        }
        self.forget_changed().await
    }

    /// Ends what has expired; called now and then.
    pub async fn tidy(&self) -> Result<(), StoreError> {
        self.failures().forget_old(Instant::now());
        self.grants.drop_expired().await
    }

    /// Ends grants of people who are not users any more, or would have to show something else now.
    async fn forget_changed(&self) -> Result<(), StoreError> {
        self.grants.retain(|principal, shown| self.required(principal) == Some(shown)).await
    }

    /// What this person has to show for a login; `None`: they are nobody here.
    fn required(&self, principal: &Principal) -> Option<Digest> {
        match &*self.users() {
            [] => (*principal == Principal::local()).then_some(self.token),
            users => {
                let user = users.iter().find(|user| user.name == principal.as_str())?;
                Some(Digest::of(&user.password))
            }
        }
    }

    /// What was shown, if it is right.
    async fn check(&self, name: &str, password: &str) -> Result<Option<Digest>, LoginError> {
        let users = self.users();
        if users.is_empty() {
            let right = name == Principal::local().as_str() && self.is_operator(password);
            return Ok(right.then_some(self.token));
        }
        if password.len() > LONGEST_PASSWORD {
            return Ok(None);
        }
        let _waiting = self.waiting.try_acquire().map_err(|_| LoginError::Busy)?;
        let _check = self.checks.acquire().await.map_err(|_| LoginError::Busy)?;
        let hash = users.iter().find(|user| user.name == name).map(|user| user.password.clone());
        let shown = hash.as_deref().map(Digest::of);
        let password = password.to_owned();
        let checked = tokio::task::spawn_blocking(move || password::is_right(&password, hash));
        let right = checked.await.unwrap_or(false);
        Ok(shown.filter(|_| right))
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
