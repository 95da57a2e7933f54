//! Files sent shortly before a text are attached to it. Pictures of the chat are also shown to the live model, if it is
//! asked before another text takes them.

use super::Commands;
use crate::message::Channel;
use bytes::Bytes;
use std::time::Duration;
use tokio::time::Instant;

/// How long a file waits for the text it belongs to, as existing clients expect.
const ATTACH_WITHIN: Duration = Duration::from_secs(60);
/// Files remembered for the next text. Full: the oldest is stored and listed, but not attached.
const CAPACITY: usize = 16;
/// Pictures kept in memory for a live model that is not open yet. Full: the oldest is attached, but not shown to the
/// model.
const UNSEEN_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug)]
struct RecentFile {
    channel: Channel,
    /// As shown to clients.
    path: String,
    at: Instant,
    /// The picture, if the live model has not seen it yet.
    unseen: Option<Bytes>,
}

#[derive(Debug, Default)]
pub(super) struct RecentFiles {
    files: Vec<RecentFile>,
}

impl RecentFiles {
    /// Files that were sent before this actor started, with their age.
    pub(super) fn restored(files: Vec<(Channel, String, Duration)>) -> Self {
        let now = Instant::now();
        let files = files.into_iter().filter_map(|(channel, path, age)| {
            Some(RecentFile { channel, path, at: now.checked_sub(age)?, unseen: None })
        });
        Self { files: files.collect() }
    }

    pub(super) fn add(&mut self, channel: Channel, path: String, unseen: Option<Bytes>) {
        if self.files.len() >= CAPACITY {
            self.files.remove(0);
        }
        self.files.push(RecentFile { channel, path, at: Instant::now(), unseen });
        self.keep_to_share();
    }

    /// The files to attach to a text on `channel`. A file is attached to one text only.
    pub(super) fn take(&mut self, channel: Channel) -> Vec<String> {
        self.forget_old();
        self.files.extract_if(.., |file| file.channel == channel).map(|file| file.path).collect()
    }

    /// Pictures that the live model has to see before it is asked. Their files still wait for a text.
    pub(super) fn take_unseen(&mut self) -> Vec<Bytes> {
        self.forget_old();
        self.files.iter_mut().filter_map(|file| file.unseen.take()).collect()
    }

    /// Drops files that are too old for any text, and their pictures with them.
    pub(super) fn forget_old(&mut self) {
        self.files.retain(|file| file.at.elapsed() < ATTACH_WITHIN);
    }

    /// When the oldest file expires.
    pub(super) fn end(&self) -> Option<Instant> {
        self.files.iter().map(|file| file.at + ATTACH_WITHIN).min()
    }

    /// Bytes of all pictures kept in memory.
    pub(super) fn bytes(&self) -> usize {
        let unseen = |file: &RecentFile| file.unseen.as_ref().map_or(0, Bytes::len);
        self.files.iter().map(unseen).sum()
    }

    fn keep_to_share(&mut self) {
        let mut bytes = 0;
        for file in self.files.iter_mut().rev() {
            bytes += file.unseen.as_ref().map_or(0, Bytes::len);
            if bytes > UNSEEN_BYTES {
                file.unseen = None;
            }
        }
    }
}

impl Commands {
    /// A file was sent. It is attached to the next text on its channel.
    pub(in crate::session) fn add_recent_file(
        &mut self,
        channel: Channel,
        path: String,
        unseen: Option<Bytes>,
    ) {
        self.recent_files.add(channel, path, unseen);
    }

    /// The files to attach to a text on `channel`. A file is attached to one text only.
    pub(in crate::session) fn take_recent_files(&mut self, channel: Channel) -> Vec<String> {
        self.recent_files.take(channel)
    }

    /// Pictures that the live model has to see before it is asked. Their files still wait for a text.
    pub(in crate::session) fn take_unseen_pictures(&mut self) -> Vec<Bytes> {
        self.recent_files.take_unseen()
    }

    /// When the oldest file that waits for a text expires.
    pub(in crate::session) fn files_expire(&self) -> Option<Instant> {
        self.recent_files.end()
    }

    pub(in crate::session) fn forget_old_files(&mut self) {
        self.recent_files.forget_old();
    }

    /// Bytes of all pictures kept in memory.
    pub(in crate::session) fn picture_bytes(&self) -> usize {
        self.recent_files.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::AgentSlot;

    #[tokio::test(start_paused = true)]
    async fn a_file_goes_with_the_next_text_of_its_channel_within_a_minute() {
        let mut recent = RecentFiles::default();
        let agent = Channel::Agent(AgentSlot::ALL[0]);
        recent.add(Channel::Chat, "old".into(), None);
        tokio::time::advance(Duration::from_secs(30)).await;
        recent.add(Channel::Chat, "new".into(), None);
        recent.add(agent, "other".into(), None);
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(recent.take(Channel::Chat), ["new"]);
        assert!(recent.take(Channel::Chat).is_empty());
        assert_eq!(recent.take(agent).len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_picture_is_seen_once_within_a_minute_and_still_attached() {
        let mut recent = RecentFiles::default();
        let picture = |mark: u8| Some(Bytes::from(vec![mark; 3]));
        recent.add(Channel::Chat, "old".into(), picture(1));
        tokio::time::advance(Duration::from_secs(30)).await;
        recent.add(Channel::Chat, "new".into(), picture(2));
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(recent.take_unseen(), [vec![2; 3]]);
        assert!(recent.take_unseen().is_empty());
        assert_eq!(recent.take(Channel::Chat), ["new"]);
    }

    #[tokio::test(start_paused = true)]
    async fn many_pictures_cost_the_oldest_and_no_attachment() {
        let mut recent = RecentFiles::default();
        for mark in 0..3 {
            let picture = Bytes::from(vec![mark; UNSEEN_BYTES / 2]);
            recent.add(Channel::Chat, mark.to_string(), Some(picture));
        }
        let seen: Vec<_> = recent.take_unseen().iter().map(|picture| picture[0]).collect();
        assert_eq!(seen, [1, 2]);
        assert_eq!(recent.take(Channel::Chat), ["0", "1", "2"]);
    }
}
