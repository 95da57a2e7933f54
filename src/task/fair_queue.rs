//! A limited number of permits for expensive work. Waiting owners take turns: an owner with a thousand requests delays
//! another owner by one piece of work, not by a thousand.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// A cheap handle; clones share the queue. `O` identifies an owner, `G` the group of the work, such as its project.
#[derive(Debug)]
pub struct FairQueue<O: Hash + Eq + Clone, G: Hash + Eq + Clone>(Arc<Shared<O, G>>);

/// How many permits may be held at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FairLimits {
    pub total: usize,
    /// Keeps one slow group, such as a project on a slow disk, from taking all permits.
    pub per_group: usize,
    pub per_owner: usize,
}

/// Permission to work; dropping it gives it back.
#[derive(Debug)]
#[must_use]
pub struct FairPermit<O: Hash + Eq + Clone, G: Hash + Eq + Clone> {
    queue: FairQueue<O, G>,
    owner: O,
    group: G,
}

#[derive(Debug)]
struct Shared<O, G> {
    limits: FairLimits,
    state: Mutex<State<O, G>>,
}

#[derive(Debug)]
struct State<O, G> {
    last_ticket: u64,
    working: usize,
    groups: HashMap<G, usize>,
    owners: HashMap<O, Owner<G>>,
    /// Owners with waiting requests, next turn first.
    round: VecDeque<O>,
}

#[derive(Debug)]
struct Owner<G> {
    working: usize,
    waiting: VecDeque<Waiting<G>>,
    /// Senders for `idle`; dropped when the owner releases a permit.
    watched: Vec<oneshot::Sender<()>>,
}

#[derive(Debug)]
struct Waiting<G> {
    ticket: u64,
    group: G,
    granted: oneshot::Sender<()>,
}

/// A place in the queue. Dropping it leaves the queue, even if the permit was granted but not taken.
#[derive(Debug)]
struct Place<O: Hash + Eq + Clone, G: Hash + Eq + Clone> {
    queue: FairQueue<O, G>,
    owner: O,
    group: G,
    ticket: u64,
    granted: oneshot::Receiver<()>,
    taken: bool,
}

impl<O: Hash + Eq + Clone, G: Hash + Eq + Clone> Clone for FairQueue<O, G> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<O: Hash + Eq + Clone, G: Hash + Eq + Clone> FairQueue<O, G> {
    pub fn new(limits: FairLimits) -> Self {
        let state = State {
            last_ticket: 0,
            working: 0,
            groups: HashMap::new(),
            owners: HashMap::new(),
            round: VecDeque::new(),
        };
        Self(Arc::new(Shared { limits, state: Mutex::new(state) }))
    }

    /// Waits for a permit. Dropping the future leaves the queue.
    pub async fn enter(&self, owner: O, group: G) -> FairPermit<O, G> {
        let mut place = self.join(owner, group);
        // The sender stays in the queue for as long as the place exists, and is removed only by granting.
        let _ = (&mut place.granted).await;
        place.taken = true;
        FairPermit { queue: self.clone(), owner: place.owner.clone(), group: place.group.clone() }
    }

    /// Waits until this owner holds no permit.
    pub async fn idle(&self, owner: &O) {
        loop {
            let (released, release) = oneshot::channel();
            match self.lock().owners.get_mut(owner).filter(|owner| owner.working > 0) {
                Some(owner) => owner.watched.push(released),
                None => return,
            }
            let _ = release.await;
        }
    }

    fn join(&self, owner: O, group: G) -> Place<O, G> {
        let (sender, granted) = oneshot::channel();
        let mut state = self.lock();
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        let new = || Owner { working: 0, waiting: VecDeque::new(), watched: Vec::new() };
        let waiting = &mut state.owners.entry(owner.clone()).or_insert_with(new).waiting;
        waiting.push_back(Waiting { ticket, group: group.clone(), granted: sender });
        if waiting.len() == 1 {
            state.round.push_back(owner.clone());
        }
        state.hand_out(self.0.limits);
        drop(state);
        Place { queue: self.clone(), owner, group, ticket, granted, taken: false }
    }

    fn release(&self, owner: &O, group: &G) {
        let mut state = self.lock();
        state.release(owner, group);
        state.hand_out(self.0.limits);
    }

    fn lock(&self) -> MutexGuard<'_, State<O, G>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O: Hash + Eq + Clone, G: Hash + Eq + Clone> State<O, G> {
    /// Grants permits to waiting owners in turn, until the limits are reached.
    fn hand_out(&mut self, limits: FairLimits) {
        while self.working < limits.total
            && let Some(turn) = self.round.iter().position(|owner| self.may_work(owner, limits))
            && let Some(owner) = self.round.remove(turn)
            && let Some(waiting) = self.owners.get_mut(&owner)
            && let Some(next) = waiting.waiting.pop_front()
        {
            waiting.working += 1;
            self.working += 1;
            *self.groups.entry(next.group).or_default() += 1;
            if !waiting.waiting.is_empty() {
                self.round.push_back(owner);
            }
            // Cannot fail: a place that is dropped is removed from the queue first.
            let _ = next.granted.send(());
        }
    }

    fn may_work(&self, owner: &O, limits: FairLimits) -> bool {
        let Some(owner) = self.owners.get(owner) else { return false };
        let of_group = |next: &Waiting<G>| self.groups.get(&next.group).copied().unwrap_or(0);
        owner.working < limits.per_owner
            && owner.waiting.front().is_some_and(|next| of_group(next) < limits.per_group)
    }

    /// False: the request is not waiting any more, because it was granted.
    fn give_up(&mut self, owner: &O, ticket: u64) -> bool {
        let Some(waiting) = self.owners.get_mut(owner) else { return false };
        let Some(place) = waiting.waiting.iter().position(|one| one.ticket == ticket) else {
            return false;
        };
        waiting.waiting.remove(place);
        if waiting.waiting.is_empty() {
            self.round.retain(|one| one != owner);
        }
        self.forget_if_idle(owner);
        true
    }

    fn release(&mut self, owner: &O, group: &G) {
        self.working -= 1;
        if let Some(working) = self.groups.get_mut(group) {
            *working -= 1;
            if *working == 0 {
                self.groups.remove(group);
            }
        }
        if let Some(owner) = self.owners.get_mut(owner) {
            owner.working -= 1;
            owner.watched.clear();
        }
        self.forget_if_idle(owner);
    }

    fn forget_if_idle(&mut self, owner: &O) {
        let idle = |owner: &Owner<G>| owner.working == 0 && owner.waiting.is_empty();
        if self.owners.get(owner).is_some_and(idle) {
            self.owners.remove(owner);
        }
    }
}

impl<O: Hash + Eq + Clone, G: Hash + Eq + Clone> Drop for Place<O, G> {
    fn drop(&mut self) {
        if self.taken {
            return;
        }
        let mut state = self.queue.lock();
        if !state.give_up(&self.owner, self.ticket) {
            state.release(&self.owner, &self.group);
        }
        // The next request of this owner may be for another group, which has a free permit.
        state.hand_out(self.queue.0.limits);
    }
}

impl<O: Hash + Eq + Clone, G: Hash + Eq + Clone> Drop for FairPermit<O, G> {
    fn drop(&mut self) {
        self.queue.release(&self.owner, &self.group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    type Queue = FairQueue<&'static str, &'static str>;
    type Permit = FairPermit<&'static str, &'static str>;

    fn queue(total: usize, per_group: usize, per_owner: usize) -> Queue {
        FairQueue::new(FairLimits { total, per_group, per_owner })
    }

    /// Joins the queue at once, like a task that was polled.
    fn waiting(queue: &Queue, owner: &'static str) -> BoxFuture<'static, Permit> {
        let queue = queue.clone();
        let mut waiting = async move { queue.enter(owner, "project").await }.boxed();
        assert!((&mut waiting).now_or_never().is_none(), "{owner} did not have to wait");
        waiting
    }

    fn granted(queue: &Queue, owner: &'static str) -> Permit {
        queue.enter(owner, "project").now_or_never().unwrap_or_else(|| panic!("{owner} waits"))
    }

    fn is_empty(queue: &Queue) -> bool {
        let state = queue.lock();
        state.working == 0
            && state.owners.is_empty()
            && state.groups.is_empty()
            && state.round.is_empty()
    }

    #[test]
    fn owners_take_turns_however_much_each_of_them_wants() {
        let queue = queue(1, 1, 1);
        let mut working = granted(&queue, "greedy");
        let mut greedy: Vec<_> = (0..100).map(|_| waiting(&queue, "greedy")).collect();
        let mut others = [waiting(&queue, "one"), waiting(&queue, "two")];
        // One request of the greedy owner is first in the round; then every other owner gets a turn.
        drop(working);
        working = (&mut greedy[0]).now_or_never().unwrap();
        for other in &mut others {
            drop(working);
            assert!((&mut greedy[1]).now_or_never().is_none());
            working = other.now_or_never().unwrap();
        }
        drop(working);
        assert!((&mut greedy[1]).now_or_never().is_some());
        drop(greedy);
        assert!(is_empty(&queue));
    }

    #[test]
    fn every_limit_holds() {
        let queue = queue(3, 2, 1);
        let first = granted(&queue, "one");
        let mut again = waiting(&queue, "one");
        let second = granted(&queue, "two");
        let mut third = waiting(&queue, "three");
        let elsewhere = queue.enter("four", "other project").now_or_never().unwrap();
        assert!(queue.enter("five", "third project").now_or_never().is_none());
        drop(second);
        let third = (&mut third).now_or_never().unwrap();
        assert!((&mut again).now_or_never().is_none());
        drop(first);
        drop((&mut again).now_or_never().unwrap());
        drop((third, elsewhere));
        assert!(is_empty(&queue));
    }

    #[test]
    fn an_owner_is_idle_when_its_last_permit_is_back() {
        let queue = queue(4, 4, 2);
        assert!(queue.idle(&"one").now_or_never().is_some());
        let (first, second) = (granted(&queue, "one"), granted(&queue, "one"));
        let mut idle = queue.idle(&"one").boxed();
        assert!((&mut idle).now_or_never().is_none());
        drop(first);
        assert!((&mut idle).now_or_never().is_none());
        drop(second);
        assert!((&mut idle).now_or_never().is_some());
    }

    #[test]
    fn whoever_leaves_is_not_waited_for() {
        let queue = queue(1, 1, 1);
        let working = granted(&queue, "one");
        let gone: Vec<_> = (0..10).map(|_| waiting(&queue, "one")).collect();
        let unlucky = waiting(&queue, "two");
        let mut last = waiting(&queue, "three");
        drop(gone);
        drop(working);
        // Its permit was granted but not taken.
        drop(unlucky);
        drop((&mut last).now_or_never().unwrap());
        drop(last);
        assert!(is_empty(&queue));
    }
}
