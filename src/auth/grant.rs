//! Grants: what a login is worth, for how long, and the connections that hang on it. They outlive a restart.

use super::secret::{self, Digest};
use crate::message::Principal;
use crate::store::{Store, StoreError, TokenRow};
use dashmap::DashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_util::sync::CancellationToken;

/// Grants of one person. More: the oldest ends, as if its device had logged out.
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

#[derive(Debug, Clone)]
struct Row {
    grant: Grant,
    created_at: i64,
    expires_at: i64,
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
        let row = self.rows.get(digest)?;
        (row.expires_at > millis()).then(|| row.grant.clone())
    }

    pub(super) fn permanent(&self, principal: &Principal) -> Grant {
        Grant { principal: principal.clone(), over: self.stop.child_token(), digest: None }
    }

    /// Good after a `kill -9`, too: the row is on disk before the secret is told.
    pub(super) async fn issue(&self, principal: &Principal) -> Result<Issued, StoreError> {
        let secret = secret::random()?;
        let digest = Digest::of(&secret);
        let created_at = millis();
        let lifetime = i64::try_from(self.lifetime.as_millis()).unwrap_or(i64::MAX);
        let token = TokenRow {
            digest: digest.0,
            principal: principal.clone(),
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

    pub(super) async fn revoke_all(&self, principal: &Principal) -> Result<(), StoreError> {
        self.end(|row| row.grant.principal == *principal).await
    }

    pub(super) async fn retain(&self, keep: impl Fn(&Principal) -> bool) -> Result<(), StoreError> {
        self.end(|row| !keep(&row.grant.principal)).await
    }

    pub(super) async fn drop_expired(&self) -> Result<(), StoreError> {
        let now = millis();
        self.end(|row| row.expires_at <= now).await
    }

    async fn drop_surplus(&self, principal: &Principal) -> Result<(), StoreError> {
        let own = self.rows.iter().filter(|row| row.grant.principal == *principal);
        let mut ages: Vec<_> = own.map(|row| row.created_at).collect();
        ages.sort_unstable();
        let Some(surplus) = ages.len().checked_sub(PER_PRINCIPAL + 1) else { return Ok(()) };
        let oldest = ages[surplus];
        self.end(|row| row.grant.principal == *principal && row.created_at <= oldest).await
    }

    fn put(&self, digest: Digest, token: &TokenRow) -> Grant {
        let grant = Grant {
            principal: token.principal.clone(),
            over: self.stop.child_token(),
            digest: Some(digest),
        };
        let row = Row {
            grant: grant.clone(),
            created_at: token.created_at,
            expires_at: token.expires_at,
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
