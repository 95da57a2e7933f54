//! When a backup was made, to the second and in local time: that is its name on disk, and what people see.

use jiff::civil::{Date, DateTime, Time};
use jiff::{ToSpan, Zoned};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(DateTime);

impl Moment {
    /// Now, or the second after `last`: each backup has a second of its own, also when a clock is set back.
    pub(super) fn after(last: Option<Self>) -> Self {
        let now = Self(Zoned::now().datetime());
        let next = last.and_then(|last| last.0.checked_add(1.second()).ok()).map(Self);
        next.map_or(now, |next| next.max(now)).to_the_second()
    }

    /// From the names of its two directories.
    pub fn parse(day: &str, time: &str) -> Option<Self> {
        let plain = |text: &str| text.bytes().all(|letter| letter.is_ascii_digit());
        if day.len() != 8 || time.len() != 6 || !plain(day) || !plain(time) {
            return None;
        }
        let date = Date::strptime("%Y%m%d", day).ok()?;
        Some(Self(date.to_datetime(Time::strptime("%H%M%S", time).ok()?)))
    }

    /// `YYYYMMDD`.
    pub fn day(self) -> String {
        self.0.strftime("%Y%m%d").to_string()
    }

    /// `HHMMSS`.
    pub fn time(self) -> String {
        self.0.strftime("%H%M%S").to_string()
    }

    /// Both together, as it is on disk.
    pub fn name(self) -> String {
        format!("{}/{}", self.day(), self.time())
    }

    pub(super) fn is_older_than(self, age: Duration) -> bool {
        let Ok(age) = jiff::SignedDuration::try_from(age) else { return false };
        Zoned::now().datetime().checked_sub(age).is_ok_and(|oldest| self.0 < oldest)
    }

    fn to_the_second(self) -> Self {
        Self(self.0.with().subsec_nanosecond(0).build().unwrap_or(self.0))
    }
}

/// What somebody wrote is no time of a backup.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time like 20260226/204453")]
pub struct BadMoment(String);

/// With or without what people put between the numbers.
impl FromStr for Moment {
    type Err = BadMoment;

    fn from_str(text: &str) -> Result<Self, BadMoment> {
        let digits: String = text.chars().filter(|letter| !"/-: ".contains(*letter)).collect();
        let parsed = digits.split_at_checked(8).and_then(|(day, time)| Self::parse(day, time));
        parsed.ok_or_else(|| BadMoment(text.escape_debug().to_string()))
    }
}

/// `YYYY/MM/DD HH:MM:SS`.
impl fmt::Display for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.strftime("%Y/%m/%d %H:%M:%S").fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_sorted_by_time() {
        let moment = Moment::parse("20260226", "204453").unwrap();
        assert_eq!((moment.day(), moment.time()), ("20260226".into(), "204453".into()));
        assert_eq!(moment.to_string(), "2026/02/26 20:44:53");
        for text in [moment.name(), moment.to_string(), "20260226204453".to_owned()] {
            assert_eq!(text.parse(), Ok(moment));
        }
        for text in
            ["", "20260226", "20260226/2044", "2026\u{3042}226/204453", "../20260226/204453"]
        {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
        assert!(moment < Moment::parse("20260227", "000000").unwrap());
        for (day, time) in [
            ("2026022", "204453"),
            ("20260230", "000000"),
            ("20260226", "246000"),
            ("+0260226", "204453"),
        ] {
            assert_eq!(Moment::parse(day, time), None, "{day} {time}");
        }
    }

    #[test]
    fn every_backup_has_its_own_second() {
        let first = Moment::after(None);
        let second = Moment::after(Some(first));
        assert!(second > first);
        let far = Moment::parse("29990101", "000000").unwrap();
        assert_eq!(Moment::after(Some(far)).to_string(), "2999/01/01 00:00:01");
        assert!(!first.is_older_than(Duration::from_secs(60)));
        assert!(
            Moment::parse("20000101", "000000").unwrap().is_older_than(Duration::from_secs(60))
        );
    }
}
