//! Local time as people see it in lists and in the names of stored files.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use std::sync::Arc;
use std::time::SystemTime;

/// `YYYY/MM/DD HH:MM:SS`.
pub fn shown(time: SystemTime) -> String {
    local(time).strftime("%Y/%m/%d %H:%M:%S").to_string()
}

/// Times of many files, of which a lot are often of the same second.
#[derive(Debug, Default)]
pub(super) struct Shown {
    last: Option<(u64, Arc<str>)>,
}

impl Shown {
    pub(super) fn of(&mut self, time: SystemTime) -> Arc<str> {
        let Ok(since) = time.duration_since(SystemTime::UNIX_EPOCH) else {
            return shown(time).into();
        };
        let second = since.as_secs();
        match &self.last {
            Some((last, text)) if *last == second => text.clone(),
            Some(_) | None => self.last.insert((second, shown(time).into())).1.clone(),
        }
    }
}

/// `YYYYMMDD.HHMMSS`, so that names sort by time.
pub(super) fn stamp(time: SystemTime) -> String {
    local(time).strftime("%Y%m%d.%H%M%S").to_string()
}

/// File systems can hold times beyond the calendar; those are shown as the beginning of time.
fn local(time: SystemTime) -> Zoned {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::system())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn times_have_the_forms_of_the_wire() {
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let digits = |text: &str| text.replace(|letter: char| letter.is_ascii_digit(), "0");
        assert_eq!(digits(&shown(time)), "0000/00/00 00:00:00");
        assert_eq!(digits(&stamp(time)), "00000000.000000");
    }

    #[test]
    fn impossible_time_is_shown_as_the_beginning() {
        let far = UNIX_EPOCH + Duration::from_secs(1 << 40);
        assert_eq!(shown(far), shown(UNIX_EPOCH));
    }
}
