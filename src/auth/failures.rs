//! Failed logins. After a few, each further one makes the same address, or the same name, wait twice as long.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// Without a further failure all is forgotten after this.
const MEMORY: Duration = Duration::from_secs(900);
/// A name is guessed at from many addresses; its owner types it wrong from one. So names get more tries, and a stranger
/// has to work harder to lock somebody out.
const NAME_FACTOR: u32 = 4;
/// Rows in memory. Full: the one that failed longest ago is forgotten.
const CAPACITY: usize = 10_000;

#[derive(Debug)]
pub(super) struct Failures {
    attempts: u32,
    rows: HashMap<Key, Row>,
    /// Where each name has logged in: its owner's places, from which strangers cannot lock it out.
    homes: HashSet<(IpAddr, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Address(IpAddr),
    Name(String),
}

#[derive(Debug)]
struct Row {
    count: u32,
    last: Instant,
}

impl Failures {
    /// So many failures of one address are free.
    pub(super) fn new(attempts: u32) -> Self {
        Self { attempts, rows: HashMap::new(), homes: HashSet::new() }
    }

    /// Counts a try as failed until [`Self::succeeded`] says otherwise; refused while the last failures demand a wait.
    pub(super) fn begin(&mut self, from: IpAddr, name: &str, now: Instant) -> Result<(), Duration> {
        let keys = keys(from, name);
        let at_home = self.homes.contains(&home(from, name));
        for key in keys.iter().filter(|key| !at_home || matches!(key, Key::Address(_))) {
            if let Some(wait) = self.wait(key, now) {
                return Err(wait);
            }
        }
        for key in keys {
            self.count(key, now);
        }
        Ok(())
    }

    pub(super) fn succeeded(&mut self, from: IpAddr, name: &str) {
        let [address, name_key] = keys(from, name);
        // One's own login must not wipe out what the same address did to others.
        if let Some(row) = self.rows.get_mut(&address) {
            row.count = row.count.saturating_sub(1);
        }
        self.rows.remove(&name_key);
        if self.homes.len() < CAPACITY {
            self.homes.insert(home(from, name));
        }
    }

    pub(super) fn forget_old(&mut self, now: Instant) {
        self.rows.retain(|_, row| now.duration_since(row.last) < MEMORY);
    }

    fn wait(&self, key: &Key, now: Instant) -> Option<Duration> {
        let row = self.rows.get(key)?;
        let free = match key {
            Key::Address(_) => self.attempts,
            Key::Name(_) => self.attempts.saturating_mul(NAME_FACTOR),
        };
        let beyond = row.count.checked_sub(free)?;
        let wait = FIRST_WAIT.saturating_mul(1_u32 << beyond.min(16)).min(LONGEST_WAIT);
        wait.checked_sub(now.duration_since(row.last)).filter(|left| !left.is_zero())
    }

    fn count(&mut self, key: Key, now: Instant) {
        if self.rows.len() >= CAPACITY && !self.rows.contains_key(&key) {
            let oldest =
                self.rows.iter().min_by_key(|(_, row)| row.last).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| self.rows.remove(&oldest));
        }
        let row = self.rows.entry(key).or_insert(Row { count: 0, last: now });
        let forgotten = now.duration_since(row.last) >= MEMORY;
        row.count = if forgotten { 1 } else { row.count.saturating_add(1) };
        row.last = now;
    }
}

fn keys(from: IpAddr, name: &str) -> [Key; 2] {
    // Longer than any user's name; kept short, because strangers choose it.
    let name = name.chars().take(64).collect();
    [Key::Address(network(from)), Key::Name(name)]
}

fn home(from: IpAddr, name: &str) -> (IpAddr, String) {
    (network(from), name.to_owned())
}

/// One household has a whole IPv6 network of 64 bits, so its addresses count as one.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let bits = address.to_bits() & (u128::MAX << 64);
            Ipv6Addr::from_bits(bits).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn waits_grow_with_failures_and_end_with_a_success() {
        let mut failures = Failures::new(3);
        let (from, mut now) = (address("10.0.0.1"), Instant::now());
        for _ in 0..3 {
            assert_eq!(failures.begin(from, "ann", now), Ok(()));
        }
        for seconds in [1, 2, 4, 8] {
            let wait = Duration::from_secs(seconds);
            assert_eq!(failures.begin(from, "ann", now), Err(wait));
            now += wait;
            assert_eq!(failures.begin(from, "ann", now), Ok(()));
        }
        // A success takes back its own try only: the address has failed as often as before.
        failures.succeeded(from, "ann");
        assert!(failures.begin(from, "ann", now).is_err());
        assert_eq!(failures.begin(from, "ann", now + MEMORY), Ok(()));
    }

    #[test]
    fn strangers_cannot_lock_somebody_out_of_their_own_place() {
        let mut failures = Failures::new(2);
        let now = Instant::now();
        let own = address("10.9.9.9");
        assert_eq!(failures.begin(own, "ann", now), Ok(()));
        failures.succeeded(own, "ann");
        for last in 0..20_u8 {
            let _ = failures.begin(IpAddr::from([10, 0, 0, last]), "ann", now);
        }
        assert!(failures.begin(address("10.0.1.1"), "ann", now).is_err());
        assert_eq!(failures.begin(own, "ann", now), Ok(()));
    }

    #[test]
    fn no_wait_is_longer_than_the_longest() {
        let mut failures = Failures::new(1);
        let (from, mut now) = (address("10.0.0.1"), Instant::now());
        for _ in 0..100 {
            while let Err(wait) = failures.begin(from, "ann", now) {
                assert!(wait <= LONGEST_WAIT);
                now += wait;
            }
        }
    }

    #[test]
    fn other_addresses_are_not_held_up_until_the_name_is() {
        let mut failures = Failures::new(2);
        let now = Instant::now();
        for last in 0..8_u8 {
            let from = IpAddr::from([10, 0, 0, last]);
            assert_eq!(failures.begin(from, "ann", now), Ok(()), "{last}");
        }
        assert!(failures.begin(address("10.0.1.1"), "ann", now).is_err());
        assert_eq!(failures.begin(address("10.0.1.1"), "bob", now), Ok(()));
    }

    #[test]
    fn one_ipv6_network_counts_as_one_address() {
        let mut failures = Failures::new(1);
        let now = Instant::now();
        assert_eq!(failures.begin(address("2001:db8::1"), "a", now), Ok(()));
        assert!(failures.begin(address("2001:db8::2"), "b", now).is_err());
        assert_eq!(failures.begin(address("2001:db8:0:1::1"), "c", now), Ok(()));
    }

    #[test]
    fn memory_is_bounded_and_fades() {
        let mut failures = Failures::new(1);
        let now = Instant::now();
        for n in 0..u32::try_from(CAPACITY).unwrap() {
            let _ = failures.begin(IpAddr::from(n.to_be_bytes()), &n.to_string(), now);
        }
        assert!(failures.rows.len() <= CAPACITY);
        failures.forget_old(now + MEMORY);
        assert!(failures.rows.is_empty());
    }
}
