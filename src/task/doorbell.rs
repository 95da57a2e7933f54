//! For a task that waits for several sources: polls only those sources that were woken, whatever else woke the task.

use futures_util::task::AtomicWaker;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Guards the polls of one source. The source must keep the waker from its last poll, as sockets, timers and pinned
/// futures do. A future that is dropped between two polls would lose the waker.
#[derive(Debug)]
pub struct Doorbell {
    bell: Arc<Bell>,
    /// Rings the bell.
    waker: Waker,
}

#[derive(Debug)]
struct Bell {
    rung: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl Default for Doorbell {
    /// Starts rung, because the source was not polled yet.
    fn default() -> Self {
        let bell = Arc::new(Bell { rung: AtomicBool::new(true), task: AtomicWaker::new() });
        Self { waker: Waker::from(Arc::clone(&bell)), bell }
    }
}

impl Doorbell {
    /// Polls the source if it was woken since the last poll, or was ready then.
    pub fn poll<T>(
        &self,
        context: &mut Context<'_>,
        ask: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        // Registered before the bell is checked, so that no ring is lost between the two.
        self.bell.task.register(context.waker());
        if !self.bell.rung.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let answer = ask(&mut Context::from_waker(&self.waker));
        if answer.is_ready() {
            // The source may have more, and it does not wake the task for that.
            self.bell.rung.store(true, Ordering::Release);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::sync::mpsc;

    #[test]
    fn who_has_nothing_to_say_is_not_asked_again_until_it_rings() {
        let doorbell = Doorbell::default();
        let mut context = Context::from_waker(Waker::noop());
        let mut visitor = None;
        let nothing = doorbell.poll(&mut context, |context| {
            visitor = Some(context.waker().clone());
            Poll::<()>::Pending
        });
        assert!(nothing.is_pending());
        let asked = doorbell.poll(&mut context, |_| -> Poll<()> { panic!("asked in vain") });
        assert!(asked.is_pending());
        visitor.unwrap().wake();
        assert_eq!(doorbell.poll(&mut context, |_| Poll::Ready(1)), Poll::Ready(1));
        assert_eq!(doorbell.poll(&mut context, |_| Poll::Ready(2)), Poll::Ready(2), "and more");
    }

    #[tokio::test]
    async fn nothing_is_missed_between_two_threads() {
        const COUNT: u32 = 100_000;
        let (sender, mut receiver) = mpsc::channel(4);
        let sending = std::thread::spawn(move || {
            (0..COUNT).for_each(|number| sender.blocking_send(number).unwrap());
        });
        let doorbell = Doorbell::default();
        for number in 0..COUNT {
            let heard = poll_fn(|cx| doorbell.poll(cx, |cx| receiver.poll_recv(cx))).await;
            assert_eq!(heard, Some(number));
        }
        sending.join().unwrap();
    }
}
