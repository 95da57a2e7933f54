//! Files sent shortly before a text belong to it.

use crate::message::Channel;
use std::time::Duration;
use tokio::time::Instant;

/// How long a file waits for the text it belongs to, as existing clients expect.
const ATTACH_WITHIN: Duration = Duration::from_secs(60);
/// Files remembered for the next text. Full: the oldest is stored and listed, but not attached.
const CAPACITY: usize = 16;

#[derive(Debug)]
struct RecentFile {
    channel: Channel,
    /// As shown to clients.
    path: String,
    at: Instant,
}

#[derive(Debug, Default)]
pub(super) struct RecentFiles {
    files: Vec<RecentFile>,
}

impl RecentFiles {
    /// What was sent to an earlier process, and how long ago.
    pub(super) fn restored(files: Vec<(Channel, String, Duration)>) -> Self {
        let now = Instant::now();
        let files = files.into_iter().filter_map(|(channel, path, age)| {
            Some(RecentFile { channel, path, at: now.checked_sub(age)? })
        });
        Self { files: files.collect() }
    }

    pub(super) fn add(&mut self, channel: Channel, path: String) {
        if self.files.len() >= CAPACITY {
            self.files.remove(0);
        }
        self.files.push(RecentFile { channel, path, at: Instant::now() });
    }

    /// What goes with a text on `channel`. A file goes with one text only.
    pub(super) fn take(&mut self, channel: Channel) -> Vec<String> {
        self.files.retain(|file| file.at.elapsed() < ATTACH_WITHIN);
        self.files.extract_if(.., |file| file.channel == channel).map(|file| file.path).collect()
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
        recent.add(Channel::Chat, "old".into());
        tokio::time::advance(Duration::from_secs(30)).await;
        recent.add(Channel::Chat, "new".into());
        recent.add(agent, "other".into());
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(recent.take(Channel::Chat), ["new"]);
        assert!(recent.take(Channel::Chat).is_empty());
        assert_eq!(recent.take(agent).len(), 1);
    }
}
