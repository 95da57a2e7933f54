//! Grants: what a login is worth, for how long, and the connections that hang on it. They outlive a restart.

use super::secret::{self, Digest};
use crate::message::Principal;
use crate::store::{Store, StoreError, TokenRow};
use dashmap::DashMap;
use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_util::sync::CancellationToken;

/// Grants of one person. More: the one that was not used for longest ends, as if its device had logged out.
const PER_PRINCIPAL: usize = 100;

/// Leave to act as somebody.
#[derive(Debug, Clone)]
pub struct Grant {
    pub principal: Principal,
    /// Cancelled when the grant ends, and with the gateway: connections close then.
    pub over: CancellationToken,
    /// `None`: the local user's token, which is good as long as its file.
    digest: Option<Digest>,
}

impl Grant {
    /// The token of the file itself, not a login.
    pub fn is_permanent(&self) -> bool {
        self.digest.is_none()
    }
}

/// A grant and the secret that stands for it; the only time the secret is known.
#[derive(Debug)]
pub struct Issued {
    pub secret: String,
    pub grant: Grant,
    pub lifetime: Duration,
}

#[derive(Debug)]
pub(super) struct Grants {
    store: Store,
    lifetime: Duration,
    stop: CancellationToken,
    rows: DashMap<Digest, Row>,
}

#[derive(Debug)]
struct Row {
    grant: Grant,
    /// Of what the principal had to show.
    shown: Digest,
    expires_at: i64,
    used_at: AtomicI64,
}

impl Grants {
    pub(super) async fn load(
        store: Store,
        lifetime: Duration,
        stop: CancellationToken,
    ) -> Result<Self, StoreError> {
        let grants = Self { store, lifetime, stop, rows: DashMap::new() };
        for token in grants.store.tokens().await? {
            grants.put(Digest(token.digest), &token);
        }
        grants.drop_expired().await?;
        Ok(grants)
    }

    pub(super) fn find(&self, digest: &Digest) -> Option<Grant> {
        let (row, now) = (self.rows.get(digest)?, millis());
        row.used_at.store(now, Relaxed);
        (row.expires_at > now).then(|| row.grant.clone())
    }

    pub(super) fn permanent(&self, principal: &Principal) -> Grant {
        Grant { principal: principal.clone(), over: self.stop.child_token(), digest: None }
    }

    /// Good after a `kill -9`, too: the row is on disk before the secret is told.
    pub(super) async fn issue(
        &self,
        principal: &Principal,
        shown: Digest,
    ) -> Result<Issued, StoreError> {
        let secret = secret::random()?;
        let digest = Digest::of(&secret);
        let created_at = millis();
        let lifetime = i64::try_from(self.lifetime.as_millis()).unwrap_or(i64::MAX);
        let token = TokenRow {
            digest: digest.0,
            principal: principal.clone(),
            credential: shown.0,
            created_at,
            expires_at: created_at.saturating_add(lifetime),
        };
        self.store.keep_token(token.clone()).await?;
        let grant = self.put(digest, &token);
        self.drop_surplus(principal).await?;
        Ok(Issued { secret, grant, lifetime: self.lifetime })
    }

    pub(super) async fn revoke(&self, grant: &Grant) -> Result<(), StoreError> {
        let digest = grant.digest;
        self.end(|row| row.grant.digest == digest).await
    }

    /// Returns how many there were.
    pub(super) async fn revoke_all(&self, principal: &Principal) -> Result<usize, StoreError> {
        let is_theirs = |row: &Row| row.grant.principal == *principal;
        let count = self.rows.iter().filter(|row| is_theirs(row)).count();
        self.end(is_theirs).await?;
        Ok(count)
    }

    /// Keeps those for which the same would have to be shown today.
    pub(super) async fn retain(
        &self,
        keep: impl Fn(&Principal, Digest) -> bool,
    ) -> Result<(), StoreError> {
        self.end(|row| !keep(&row.grant.principal, row.shown)).await
    }

    pub(super) async fn drop_expired(&self) -> Result<(), StoreError> {
        let now = millis();
        self.end(|row| row.expires_at <= now).await
    }

    async fn drop_surplus(&self, principal: &Principal) -> Result<(), StoreError> {
        let own = self.rows.iter().filter(|row| row.grant.principal == *principal);
        let mut uses: Vec<_> = own.map(|row| (row.used_at.load(Relaxed), *row.key())).collect();
        let Some(surplus) = uses.len().checked_sub(PER_PRINCIPAL) else { return Ok(()) };
        uses.sort_unstable_by_key(|(used_at, _)| *used_at);
        let unused: HashSet<Digest> = uses.into_iter().take(surplus).map(|(_, key)| key).collect();
        self.end(|row| row.grant.digest.is_some_and(|digest| unused.contains(&digest))).await
    }

    fn put(&self, digest: Digest, token: &TokenRow) -> Grant {
        let grant = Grant {
            principal: token.principal.clone(),
            over: self.stop.child_token(),
            digest: Some(digest),
        };
        let row = Row {
            grant: grant.clone(),
            shown: Digest(token.credential),
            expires_at: token.expires_at,
            used_at: AtomicI64::new(token.created_at),
        };
        self.rows.insert(digest, row);
        grant
    }

    /// At once in memory; an error only means that the rows may come back with the next start.
    async fn end(&self, over: impl Fn(&Row) -> bool) -> Result<(), StoreError> {
        let mut ended = Vec::new();
        self.rows.retain(|digest, row| {
            if over(row) {
                row.grant.over.cancel();
                ended.push(digest.0);
            }
            !over(row)
        });
        if ended.is_empty() { Ok(()) } else { self.store.drop_tokens(ended).await }
    }
}

fn millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
