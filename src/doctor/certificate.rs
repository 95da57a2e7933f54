//! Until when a certificate is good. Reads just enough of its DER form to find that date.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// The version, which the first version does not have.
const VERSION: u8 = 0xa0;

/// `None` if this is no certificate, or one of an unusual form.
pub(super) fn end(certificate: &[u8]) -> Option<Timestamp> {
    let (certificate, _) = part(certificate, SEQUENCE)?;
    let (signed, _) = part(certificate, SEQUENCE)?;
    let rest = part(signed, VERSION).map_or(signed, |(_, rest)| rest);
    let (_serial, rest) = part(rest, INTEGER)?;
    let (_algorithm, rest) = part(rest, SEQUENCE)?;
    let (_issuer, rest) = part(rest, SEQUENCE)?;
    let (validity, _) = part(rest, SEQUENCE)?;
    let (_, after_begin) = time(validity)?;
    time(after_begin).map(|(end, _)| end)
}

fn time(bytes: &[u8]) -> Option<(Timestamp, &[u8])> {
    let (text, rest) = match part(bytes, GENERALIZED_TIME) {
        Some((text, rest)) => (str::from_utf8(text).ok()?.to_owned(), rest),
        None => {
            let (text, rest) = part(bytes, UTC_TIME)?;
            let text = str::from_utf8(text).ok()?;
            // Two digits of a year mean 1950 to 2049.
            let century = if text.as_bytes().first()? < &b'5' { "20" } else { "19" };
            (format!("{century}{text}"), rest)
        }
    };
    let time = DateTime::strptime("%Y%m%d%H%M%SZ", text).ok()?;
    Some((time.to_zoned(TimeZone::UTC).ok()?.timestamp(), rest))
}

/// The content of the first part, which has to be of this kind, and what comes after it.
fn part(bytes: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    (*first == kind).then(|| rest.split_at_checked(length)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    fn certificate(year: i32) -> Vec<u8> {
        let mut params = CertificateParams::new(vec!["desk.example".to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, 3, 1);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn the_date_is_found_in_both_forms() {
        for year in [1999, 2031, 2049, 2050, 4096] {
            let end = end(&certificate(year)).unwrap().to_string();
            assert_eq!(end, format!("{year}-03-01T00:00:00Z"));
        }
    }

    #[test]
    fn anything_else_has_no_date() {
        let whole = certificate(2031);
        for length in 0..whole.len().min(200) {
            // Whatever is cut off, the outermost length does not fit any more.
            assert_eq!(end(&whole[..length]), None, "{length}");
        }
        for nonsense in [&b"hello"[..], &[0x30, 0x84, 255, 255, 255, 255], &[0x30, 0x80]] {
            assert_eq!(end(nonsense), None);
        }
    }
}
