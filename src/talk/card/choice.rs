//! Which device, and in which form its samples come.

use crate::talk::TalkError;
use cpal::traits::{DeviceTrait, HostTrait};
use cpal::{Device, SampleFormat, SupportedStreamConfig, SupportedStreamConfigRange};

/// What everything here is made for; other rates are converted.
pub(super) const BEST_RATE: u32 = 48_000;
const SLOWEST: u32 = 8_000;
/// In the order in which we like them; a card that has others has one of these too.
const FORMS: [SampleFormat; 3] = [SampleFormat::I16, SampleFormat::F32, SampleFormat::I32];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Input,
    Output,
}

/// One line for every device.
pub(in crate::talk) fn names() -> Result<Vec<String>, TalkError> {
    let mut lines = Vec::new();
    for (direction, word) in [(Direction::Input, "input "), (Direction::Output, "output")] {
        for device in all(direction)? {
            lines.push(format!("{word}  {}  ({device})", id(&device)));
        }
    }
    if lines.is_empty() {
        return Err(TalkError::NoDevice("this machine has none".to_owned()));
    }
    Ok(lines)
}

/// The one that is wanted, or the system's own choice.
pub(super) fn device(direction: Direction, wanted: Option<&str>) -> Result<Device, TalkError> {
    let host = cpal::default_host();
    let Some(wanted) = wanted else {
        let (default, what) = match direction {
            Direction::Input => (host.default_input_device(), "microphone"),
            Direction::Output => (host.default_output_device(), "speaker"),
        };
        return default.ok_or_else(|| TalkError::NoDevice(format!("this machine has no {what}")));
    };
    let devices = all(direction)?;
    let named: Vec<_> = devices.iter().map(|device| (id(device), device.to_string())).collect();
    let at = matching(&named, wanted)
        .ok_or_else(|| TalkError::NoDevice(format!("none is called {wanted:?}")))?;
    devices.into_iter().nth(at).ok_or_else(|| TalkError::NoDevice("it is gone".to_owned()))
}

fn all(direction: Direction) -> Result<Vec<Device>, TalkError> {
    let host = cpal::default_host();
    let found = match direction {
        Direction::Input => host.input_devices().map(Iterator::collect),
        Direction::Output => host.output_devices().map(Iterator::collect),
    };
    found.map_err(|err| TalkError::NoDevice(err.to_string()))
}

fn id(device: &Device) -> String {
    device.id().map_or_else(|_| device.to_string(), |id| id.id().to_owned())
}

/// The exact name before a part of one.
fn matching(named: &[(String, String)], wanted: &str) -> Option<usize> {
    let is = |(id, name): &(String, String)| id == wanted || name == wanted;
    let part = wanted.to_lowercase();
    let has = |(id, name): &(String, String)| {
        id.to_lowercase().contains(&part) || name.to_lowercase().contains(&part)
    };
    named.iter().position(is).or_else(|| named.iter().position(has))
}

/// The form that costs the least on the way.
pub(super) fn form(
    device: &Device,
    direction: Direction,
) -> Result<SupportedStreamConfig, TalkError> {
    let unusable = |err: cpal::Error| TalkError::NoDevice(format!("{device}: {err}"));
    let ranges: Vec<_> = match direction {
        Direction::Input => device.supported_input_configs().map_err(unusable)?.collect(),
        Direction::Output => device.supported_output_configs().map_err(unusable)?.collect(),
    };
    let none = || TalkError::NoDevice(format!("{device}: no rate from 8000 to 48000 Hz"));
    best(&ranges).ok_or_else(none)
}

fn best(ranges: &[SupportedStreamConfigRange]) -> Option<SupportedStreamConfig> {
    let usable = ranges.iter().filter_map(|range| Some((rate(range)?, rank(range)?, range)));
    let (rate, _, range) =
        usable.min_by_key(|(rate, rank, range)| (BEST_RATE - rate, range.channels(), *rank))?;
    range.try_with_sample_rate(rate)
}

fn rate(range: &SupportedStreamConfigRange) -> Option<u32> {
    let rate = range.max_sample_rate().min(BEST_RATE);
    (rate >= SLOWEST.max(range.min_sample_rate())).then_some(rate)
}

fn rank(range: &SupportedStreamConfigRange) -> Option<usize> {
    FORMS.iter().position(|form| *form == range.sample_format())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpal::SupportedBufferSize;

    fn range(channels: u16, from: u32, to: u32, form: SampleFormat) -> SupportedStreamConfigRange {
        SupportedStreamConfigRange::new(channels, from, to, SupportedBufferSize::Unknown, form)
    }

    #[test]
    fn the_form_that_needs_no_conversion_is_preferred() {
        let ranges = [
            range(2, 44_100, 192_000, SampleFormat::F32),
            range(1, 8_000, 192_000, SampleFormat::F32),
            range(1, 8_000, 192_000, SampleFormat::I16),
            range(1, 8_000, 44_100, SampleFormat::I16),
        ];
        let chosen = best(&ranges).unwrap();
        assert_eq!((chosen.sample_rate(), chosen.channels()), (48_000, 1));
        assert_eq!(chosen.sample_format(), SampleFormat::I16);
        let slow = best(&[range(2, 44_100, 44_100, SampleFormat::I32)]).unwrap();
        assert_eq!(slow.sample_rate(), 44_100);
        assert!(best(&[range(2, 96_000, 192_000, SampleFormat::I16)]).is_none());
        assert!(best(&[range(2, 48_000, 48_000, SampleFormat::F64)]).is_none());
    }

    #[test]
    fn devices_are_found_by_name_id_or_a_part() {
        let name = |id: &str, name: &str| (id.to_owned(), name.to_owned());
        let named =
            [name("hw:0", "USB Headset mono"), name("default", "Default"), name("x", "USB")];
        assert_eq!(matching(&named, "USB"), Some(2));
        assert_eq!(matching(&named, "default"), Some(1));
        assert_eq!(matching(&named, "headset"), Some(0));
        assert_eq!(matching(&named, "none"), None);
    }
}
