//! Makes backups in the background, one at a time for each project, whoever asks. Of the snapshots that wait the newest
//! is enough: what is copied are the files as they are then, and not as they were when somebody asked.

use super::{Backups, FileError, Files, Snapshot};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tracing::warn;

#[derive(Debug, Default)]
pub(super) struct Copier(Mutex<Orders>);

type Answer = oneshot::Sender<Result<(), FileError>>;

#[derive(Debug, Default)]
struct Orders {
    newest: Option<Snapshot>,
    /// Everybody who waits for that or for an older one.
    waiting: Vec<Answer>,
    /// Set while a thread works.
    current: Option<Current>,
}

/// The backup that is being made.
#[derive(Debug, Default)]
struct Current {
    revision: u64,
    waiting: Vec<Answer>,
}

impl Files {
    /// Like [`Files::back_up`], but does not block. The answer comes when the project is backed up as in the snapshot,
    /// or as in a newer one. It is made also if nobody waits for the answer.
    pub fn back_up_soon(&self, snapshot: Snapshot) -> oneshot::Receiver<Result<(), FileError>> {
        let (done, answer) = oneshot::channel();
        let mut orders = self.places.backups.orders();
        // Made after the newer one, it would be the last backup, and wrong about what came later.
        if let Some(current) = &mut orders.current
            && snapshot.revision < current.revision
        {
            current.waiting.push(done);
            return answer;
        }
        orders.waiting.retain(|other| !other.is_closed());
        orders.waiting.push(done);
        let newest = orders.newest.take().filter(|newest| newest.revision > snapshot.revision);
        orders.newest = Some(newest.unwrap_or(snapshot));
        if orders.current.is_none() {
            orders.current = Some(Current::default());
            let files = self.clone();
            tokio::task::spawn_blocking(move || files.carry_out_orders());
        }
        answer
    }

    fn carry_out_orders(&self) {
        let _working = Working(&self.places.backups);
        loop {
            let mut orders = self.places.backups.orders();
            let Some(snapshot) = orders.newest.take() else {
                // Under the same lock, so that no order comes in between.
                orders.current = None;
                return;
            };
            let waiting = std::mem::take(&mut orders.waiting);
            orders.current = Some(Current { revision: snapshot.revision, waiting });
            drop(orders);
            let made = self.back_up(&snapshot);
            if let Err(err) = &made {
                // Told here, because by now nobody may be listening.
                warn!(%err, "the project is not backed up");
            }
            let made_one = self.places.backups.orders().current.replace(Current::default());
            let waiting = made_one.map(|current| current.waiting);
            for one in waiting.into_iter().flatten() {
                let _ = one.send(made.clone());
            }
        }
    }
}

impl Backups {
    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.copier.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A panic must not be the end of all backups: whoever waits is told, and the next order starts anew.
struct Working<'a>(&'a Backups);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            *self.0.orders() = Orders::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::files::fixture::Fixture;
    use std::fs;

    #[tokio::test]
    async fn of_backups_that_wait_the_newest_is_made_and_answers_all() {
        let fixture = Fixture::new();
        let files = &fixture.files;
        let busy = files.places.backups.work();
        let mut answers = Vec::new();
        let mut snapshots = Vec::new();
        for number in 0..20 {
            fs::write(files.project().join(format!("{number}.txt")), "x").unwrap();
            snapshots.push(files.survey().unwrap());
        }
        let newest = snapshots.pop().unwrap();
        answers.push(files.back_up_soon(snapshots.remove(0)));
        answers.push(files.back_up_soon(newest));
        // Those that come late are older all the same.
        answers.extend(snapshots.into_iter().map(|snapshot| files.back_up_soon(snapshot)));
        drop(busy);
        for answer in answers {
            assert_eq!(answer.await.unwrap(), Ok(()));
        }
        let backups = files.backups();
        assert!(backups.len() <= 2, "{backups:?}");
        assert_eq!(backups.last().unwrap().files, 20);
        // It is not tired.
        fs::write(files.project().join("last.txt"), "x").unwrap();
        assert_eq!(files.back_up_soon(files.survey().unwrap()).await.unwrap(), Ok(()));
        assert_eq!(files.backups().last().unwrap().files, 21);
    }
}
