//! The client's side of the wire, for our own voice client: what it sends and receives on `audio` and `0`.

mod wire;

use super::value;
use super::wire::SOCKET_PATH;
use crate::message::Channel;
use bytes::Bytes;
use wire::{AnyPacket, HelloPacket, PlaybackBody, PressBody, SoundPacket};

/// Sample rate assumed when an audio packet names none.
const OUTPUT_RATE: u32 = 24_000;

/// The first packet of a socket.
#[derive(Debug)]
pub struct Hello<'a> {
    /// `None` starts a new session.
    pub session: Option<&'a str>,
    pub channel: Channel,
    /// Language of the gateway's own texts.
    pub language: Option<&'a str>,
    /// Optional features that the client supports.
    pub features: &'a [&'a str],
    /// How many past packets are wanted if the client cannot resume.
    pub history: usize,
    /// Where to resume: the epoch from the gateway, and the number of the last packet seen.
    pub cursor: Option<(&'a str, u64)>,
}

/// The playback position in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Playback {
    pub generation: u64,
    /// Samples of this reply that were played.
    pub played: u64,
    /// Milliseconds of audio that are buffered.
    pub left_ms: u64,
    /// Underruns so far.
    pub gaps: u64,
}

/// The push-to-talk key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Press {
    Start,
    End,
}

/// One packet from the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayPacket {
    /// The packet's number, if the channel stores it.
    pub seq: Option<u64>,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Welcome {
        session: String,
        epoch: String,
        resumed: bool,
    },
    /// Audio to play, with its generation if the gateway sends one.
    Audio {
        generation: Option<u64>,
        rate: u32,
        pcm: Bytes,
    },
    /// Stop playback. Audio up to this generation is stale; `None`: all audio is.
    Stop {
        generation: Option<u64>,
    },
    Text {
        from: Author,
        text: String,
    },
    Refused {
        code: String,
        text: String,
    },
    /// A packet that this client does not use.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    User,
    Model,
    Gateway,
}

/// Not a packet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the gateway sent a packet that cannot be read: {0}")]
pub struct Unreadable(String);

/// The percent-encoded path of the socket.
pub fn socket_path() -> String {
    let encoded = SOCKET_PATH.bytes().map(|byte| match byte {
        0x21..=0x7e => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    encoded.collect()
}

impl Hello<'_> {
    pub fn write(&self) -> String {
        write(&HelloPacket {
            kind: "connect",
            session: self.session,
            socket: value::channel_name(self.channel),
            language: self.language,
            features: self.features,
            history: self.history,
            epoch: self.cursor.map(|(epoch, _)| epoch),
            last_seq: self.cursor.map(|(_, seq)| seq),
        })
    }
}

/// A chunk of microphone audio.
pub fn write_audio(session: &str, rate: u32, pcm: &[u8]) -> String {
    let body = format!("audio/pcm;rate={rate}");
    let pcm = Some(base64_simd::STANDARD.encode_to_string(pcm));
    write(&SoundPacket { session, channel: "audio", kind: "input_audio", body, pcm })
}

pub fn write_playback(session: &str, playback: &Playback) -> String {
    let Playback { generation, played, left_ms, gaps } = *playback;
    let body = PlaybackBody { generation, played, left_ms, gaps };
    write(&SoundPacket { session, channel: "audio", kind: "playback_ack", body, pcm: None })
}

pub fn write_press(session: &str, press: Press) -> String {
    let state = match press {
        Press::Start => "start",
        Press::End => "end",
    };
    let body = PressBody { state };
    write(&SoundPacket { session, channel: "audio", kind: "push_to_talk", body, pcm: None })
}

/// Serializing these packets cannot fail.
fn write(packet: &impl serde::Serialize) -> String {
    serde_json::to_string(packet).unwrap_or_default()
}

/// Reads a packet from the gateway.
pub fn read(frame: &str) -> Result<GatewayPacket, Unreadable> {
    let packet: AnyPacket<'_> =
        serde_json::from_str(frame).map_err(|err| Unreadable(err.to_string()))?;
    let text = |from| Content::Text { from, text: text(&packet) };
    let content = match packet.kind.as_ref() {
        "init" => Content::Welcome {
            session: packet.session.as_deref().unwrap_or_default().to_owned(),
            epoch: packet.epoch.as_deref().unwrap_or_default().to_owned(),
            resumed: packet.resumed.unwrap_or(false),
        },
        "output_audio" => audio(&packet)?,
        "cancel_audio" => Content::Stop { generation: packet.generation },
        "recognition_input" | "input_text" => text(Author::User),
        "recognition_output" | "output_text" | "output_request" => text(Author::Model),
        "welcome_info" | "system_info" => text(Author::Gateway),
        "error" => Content::Refused {
            code: packet.code.as_deref().unwrap_or_default().to_owned(),
            text: self::text(&packet),
        },
        _ => Content::Other,
    };
    Ok(GatewayPacket { seq: packet.seq, content })
}

fn text(packet: &AnyPacket<'_>) -> String {
    packet.body.and_then(|body| serde_json::from_str(body.get()).ok()).unwrap_or_default()
}

fn audio(packet: &AnyPacket<'_>) -> Result<Content, Unreadable> {
    let pcm = base64_simd::STANDARD
        .decode_to_vec(packet.file_name.as_deref().unwrap_or_default())
        .map_err(|_| Unreadable("its sound is not base64".to_owned()))?;
    let rate = text(packet)
        .split(';')
        .find_map(|part| part.trim().strip_prefix("rate=")?.parse().ok())
        .unwrap_or(OUTPUT_RATE);
    Ok(Content::Audio { generation: packet.generation, rate, pcm: pcm.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::aicore::DecodeError;
    use crate::dialect::aicore::{AicoreDialect, read_connect};
    use crate::dialect::{Dialect, Encoder, Received};
    use crate::locale::Locale;
    use crate::message::{
        Command, Epoch, Generation, Recorded, SentSessionId, Seq, SessionId, TalkKey,
    };
    use std::time::Duration;

    const ID: &str = "ws-9d5e429d548ace0fdcf743a3d74ee399";

    fn gateway(channel: Channel) -> AicoreDialect {
        AicoreDialect::new(SessionId::parse(ID).unwrap(), channel, Locale::En)
    }

    #[test]
    fn the_gateway_understands_the_first_packet() {
        let hello = Hello {
            session: Some(ID),
            channel: Channel::Chat,
            language: Some("en"),
            features: &["playback"],
            history: 3,
            cursor: Some(("00000000000000ff", 12)),
        };
        let read = read_connect(&hello.write()).unwrap();
        assert_eq!(read.session, SentSessionId::parse(ID));
        assert_eq!(read.channel, Channel::Chat);
        assert_eq!(read.locale, Some(Locale::En));
        assert_eq!(read.history, Some(3));
        assert_eq!(read.cursor, Some((Epoch(255), Seq(12))));
        let first = Hello { session: None, cursor: None, channel: Channel::Audio, ..hello };
        let read = read_connect(&first.write()).unwrap();
        assert_eq!((read.session, read.cursor, read.channel), (None, None, Channel::Audio));
    }

    #[test]
    fn the_gateway_understands_the_microphone() {
        let packet = write_audio(ID, 24_000, &[1, 2, 3, 4]);
        let inbound =
            gateway(Channel::Audio).decode(Received::Text(&packet)).unwrap().into_one().unwrap();
        let Command::SendAudio(chunk) = inbound.command else { panic!("{inbound:?}") };
        assert_eq!(
            chunk,
            Recorded { rate: crate::message::SampleRate::Hz(24_000), pcm: vec![1, 2, 3, 4].into() }
        );
    }

    #[test]
    fn sound_and_stops_are_understood_with_and_without_a_generation() {
        let content = |frame| read(frame).unwrap().content;
        let frame = include_str!("../../../tests/fixtures/aicore/server_output_audio.json");
        let Content::Audio { rate, pcm, .. } = content(frame) else { panic!("{frame}") };
        assert_eq!((rate, &pcm[..]), (24_000, &[0, 0, 255, 127][..]));
        let frame = include_str!("../../../tests/fixtures/aicore/server_cancel_audio.json");
        assert!(matches!(content(frame), Content::Stop { .. }), "{frame}");
        let frame =
            include_str!("../../../tests/fixtures/aicore/server_output_audio_generation.json");
        assert!(matches!(content(frame), Content::Audio { generation: Some(_), .. }), "{frame}");
        let frame =
            include_str!("../../../tests/fixtures/aicore/server_cancel_audio_generation.json");
        assert!(matches!(content(frame), Content::Stop { generation: Some(_) }), "{frame}");
    }

    #[test]
    fn the_gateway_understands_the_playback_position_and_the_talk_key() {
        let playback = Playback { generation: 3, played: 24_000, left_ms: 180, gaps: 2 };
        let read = |packet: String| {
            gateway(Channel::Audio)
                .decode(Received::Text(&packet))
                .unwrap()
                .into_one()
                .unwrap()
                .command
        };
        let Command::AckPlayback(ack) = read(write_playback(ID, &playback)) else { panic!() };
        assert_eq!((ack.generation, ack.samples, ack.underruns), (Generation(3), 24_000, 2));
        assert_eq!(ack.buffered, Duration::from_millis(180));
        for (press, key) in [(Press::Start, TalkKey::Pressed), (Press::End, TalkKey::Released)] {
            let Command::PressTalkKey(read) = read(write_press(ID, press)) else { panic!() };
            assert_eq!(read, key);
        }
    }

    #[test]
    fn texts_have_an_author_and_a_number() {
        let frame = include_str!("../../../tests/fixtures/aicore/server_recognition_input.json");
        let packet = read(frame).unwrap();
        assert!(matches!(packet.content, Content::Text { from: Author::User, .. }), "{frame}");
        assert_eq!(packet.seq, Some(7));
        let frame = include_str!("../../../tests/fixtures/aicore/server_recognition_output.json");
        assert!(matches!(read(frame).unwrap().content, Content::Text { from: Author::Model, .. }));
    }

    #[test]
    fn an_unreadable_packet_is_an_error_and_an_unknown_kind_is_not() {
        assert!(read("7").is_err());
        assert!(read("nonsense").is_err());
        assert_eq!(read("{}").unwrap().content, Content::Other);
        let mut frames = Vec::new();
        let refusal = DecodeError::UnknownKind("future_kind".to_owned()).into();
        gateway(Channel::Audio).encoder().refuse(&refusal, &mut frames);
        let Content::Refused { code, text } = read(frames[0].text().unwrap()).unwrap().content
        else {
            panic!()
        };
        assert_eq!(code, "unknown_kind");
        assert!(text.contains("future_kind"), "{text}");
    }

    #[test]
    fn the_path_is_written_as_browsers_write_it() {
        assert_eq!(socket_path(), "/core/ws/AI%E3%82%B3%E3%82%A2");
    }
}
