//! Server-sent events out of bytes as they come. Knows lines and fields, not what is in them.

/// Larger ones are refused: a generated picture fits, and a server gone mad does not fill the memory.
pub(super) const LARGEST_EVENT: usize = 32 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct SseReader {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    name: Vec<u8>,
    /// The last byte was a carriage return; a line feed right behind it ends no further line.
    after_return: bool,
    /// Something has been read, so a mark of the byte order cannot come any more.
    begun: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// Empty for most vendors.
    pub(super) name: String,
    pub(super) data: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SseError {
    #[error("an event is larger than {} MiB", LARGEST_EVENT / 1024 / 1024)]
    TooLarge,
    #[error("an event is not UTF-8")]
    NotText,
}

impl SseReader {
    /// Takes the next bytes, wherever they are cut, and returns the events that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        let mut events = Vec::new();
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.keep(bytes)?;
                break;
            };
            self.keep(&bytes[..end])?;
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line()?);
        }
        Ok(events)
    }

    /// The event that was not yet followed by an empty line when the stream ended.
    pub(super) fn finish(mut self) -> Result<Option<SseEvent>, SseError> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        self.dispatch()
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.line.len() + self.data.len() + bytes.len() > LARGEST_EVENT {
            return Err(SseError::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseError> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = (&line[..colon], line.get(colon + 1..).unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = value.to_vec(),
            // A comment, or a field for browsers.
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Result<Option<SseEvent>, SseError> {
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        if !std::mem::take(&mut self.has_data) {
            return Ok(None);
        }
        let text = |bytes| String::from_utf8(bytes).map_err(|_| SseError::NotText);
        Ok(Some(SseEvent { name: text(name)?, data: text(data)? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stream: &str, expected: &[(&str, &str)]) {
        let event = |(name, data): &(&str, &str)| SseEvent {
            name: (*name).to_owned(),
            data: (*data).to_owned(),
        };
        let expected: Vec<_> = expected.iter().map(event).collect();
        for size in [1, 2, 3, 7, stream.len().max(1)] {
            let mut reader = SseReader::default();
            let mut events = Vec::new();
            for piece in stream.as_bytes().chunks(size) {
                events.extend(reader.push(piece).unwrap());
            }
            events.extend(reader.finish().unwrap());
            assert_eq!(events, expected, "{stream:?} in pieces of {size}");
        }
    }

    #[test]
    fn every_end_of_line_ends_a_line() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = ["data: a", "", "event: e", "data:b", "data:  c", "", ""].join(end);
            check(&stream, &[("", "a"), ("e", "b\n c")]);
        }
    }

    #[test]
    fn comments_and_other_fields_are_passed_over() {
        check(
            ": OPENROUTER PROCESSING\n\nid: 1\nretry: 5\n: x\ndata: a\nnothing\n\n",
            &[("", "a")],
        );
        check("event: lonely\n\ndata\n\n", &[("", "")]);
        check(":\n\n\n\n", &[]);
    }

    #[test]
    fn letters_may_be_cut_anywhere() {
        check("\u{feff}data: \u{304b}\u{1f309}\n\n", &[("", "\u{304b}\u{1f309}")]);
        check("data: \u{feff}x\n\n", &[("", "\u{feff}x")]);
    }

    #[test]
    fn the_last_event_needs_no_empty_line() {
        check("data: a\n\ndata: [DONE]", &[("", "a"), ("", "[DONE]")]);
        check("data: a\n", &[("", "a")]);
        check("", &[]);
    }

    #[test]
    fn what_is_not_text_is_refused() {
        let refused = SseReader::default().push(b"data: \xff\n\n");
        assert_eq!(refused, Err(SseError::NotText));
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let piece = vec![b'a'; 1024 * 1024];
        let mut reader = SseReader::default();
        let refused = (0..40).find_map(|_| reader.push(&piece).err());
        assert_eq!(refused, Some(SseError::TooLarge));
        let mut reader = SseReader::default();
        let lines = [&b"data:"[..], &piece, b"\n"].concat();
        let refused = (0..40).find_map(|_| reader.push(&lines).err());
        assert_eq!(refused, Some(SseError::TooLarge));
    }
}
