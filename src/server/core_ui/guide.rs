//! Leads a connection of the `agent_event` form from session to session. Its page stores the id of its session, and
//! names it in the first frame after a reconnect or a reload, when the connection has a new session already.

use super::super::AppState;
use super::super::attached::{Attached, End};
use super::super::door::{self, IfUnknown, Refused, WantedSession};
use super::super::socket::WebSocketTransport;
use super::super::sockets::SocketPlace;
use super::Address;
use crate::dialect::core_ui::AgentEventDialect;
use crate::dialect::{Dialect, Elsewhere, Encoder, Frame};
use crate::locale::Locale;
use crate::message::{SentSessionId, SessionId};
use crate::session::{History, Role};
use std::sync::Arc;
use tokio::time::timeout;

type Client = Attached<AgentEventDialect, WebSocketTransport>;

pub(super) struct Guide<'a> {
    state: &'a AppState,
    address: &'a Address,
    place: &'a SocketPlace,
    locale: Locale,
    /// The session that was made for this connection, until the connection leaves it.
    fresh: Option<SessionId>,
}

impl<'a> Guide<'a> {
    pub(super) fn new(
        state: &'a AppState,
        address: &'a Address,
        client: &Client,
        place: &'a SocketPlace,
        locale: Locale,
    ) -> Self {
        let is_fresh = address.session == WantedSession::New;
        let fresh = is_fresh.then(|| client.session.id().clone());
        Self { state, address, place, locale, fresh }
    }

    /// Like [`Attached::run`], in whatever session the client names.
    pub(super) async fn run(mut self, mut client: Client) -> End {
        let mut out = Vec::new();
        client.encoder.greet(&client.greeting, &mut out);
        let end = loop {
            let followed = match client.exchange_frames(&mut out).await {
                Ok(elsewhere) => self.follow(&mut client, elsewhere, &mut out).await,
                Err(end) => Err(end),
            };
            if let Err(end) = followed {
                break end;
            }
        };
        client.finish(end).await
    }

    /// A client that is not led anywhere is told why, and what it wanted is not carried out.
    async fn follow(
        &mut self,
        client: &mut Client,
        elsewhere: Elsewhere,
        out: &mut Vec<Frame>,
    ) -> Result<(), End> {
        match self.lead(client, &elsewhere.session).await {
            Ok(()) => {
                client.encoder.greet(&client.greeting, out);
                client.submit_all(elsewhere.commands, out).await
            }
            Err(refused) => {
                client.terms.metrics.frame_refused(refused.code());
                client.encoder.turn_away(refused.code(), &refused.say(self.locale), out);
                Ok(())
            }
        }
    }

    /// The connection stays where it is until it is attached to the other session.
    async fn lead(&mut self, client: &mut Client, named: &str) -> Result<(), Refused> {
        // Nothing is done for a login that has ended; the loop ends because of it.
        if client.terms.over.is_cancelled() {
            return Err(Refused::Unauthorized);
        }
        let id = SessionId::parse(named).map(SentSessionId::Ours).ok_or(Refused::Session)?;
        let mut hello = self.address.hello(self.state, Role::Participant, None);
        hello.session = WantedSession::ById { id, if_unknown: IfUnknown::Refuse };
        hello.cursor = None;
        // After a reconnect the page still shows what was said, after a reload it shows nothing, and it does not tell
        // which. With the newest run it misses no answer that came meanwhile, and repeats at most one.
        if self.address.history.is_none() {
            hello.history = History::LastRun;
        }
        let activity = &client.terms.activity;
        let (session, greeting, reader) =
            door::attach(self.state, self.place, &hello, activity).await?;
        client.session = session;
        client.greeting = greeting;
        // Dropping the former reader detaches the connection from the former session.
        client.reader = reader;
        let dialect = AgentEventDialect {
            session: client.session.id().clone(),
            former: self.discard_fresh().await.or_else(|| client.dialect.former.clone()),
            ..AgentEventDialect::clone(&client.dialect)
        };
        client.encoder = dialect.encoder();
        client.dialect = Arc::new(dialect);
        Ok(())
    }

    /// Deletes the session that was made for this connection, if nothing has happened in it. Otherwise every reload of
    /// a page would leave an empty session behind.
    async fn discard_fresh(&mut self) -> Option<SessionId> {
        let fresh = self.fresh.take()?;
        let discard = self.state.registry.discard(&self.place.principal, &fresh);
        // A store that does not answer must not leave the client waiting.
        let discarded = timeout(self.state.config.limits.handshake, discard).await;
        discarded.unwrap_or(false).then_some(fresh)
    }
}
