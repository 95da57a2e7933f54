//! Which of the configured models holds the conversation: the first that has a key and is in service.

use crate::provider::live::remote::Remote;
use crate::provider::live::remote::connection::availability::Permit;

/// The first working model from this place in the list on.
pub(super) fn first_working(remote: &Remote, from: usize) -> Option<(usize, Permit)> {
    (from..remote.models.len()).filter(|place| remote.models[*place].has_key()).find_map(|place| {
        let permit = remote.client.availability.permit(&remote.models[place].name)?;
        Some((place, permit))
    })
}

/// Why no model works, for people.
pub(super) fn why_none(remote: &Remote) -> String {
    let missing = remote.models.iter().filter(|model| !model.has_key());
    let missing = missing.filter_map(|model| Some((&model.label, &model.key.as_ref()?.variable)));
    let missing: Vec<_> =
        missing.map(|(label, key)| format!("{label} needs the variable {key}")).collect();
    if missing.is_empty() {
        let outages = remote.models.iter().filter(|model| model.has_key());
        let outages =
            outages.filter_map(|model| remote.client.availability.outage_left(&model.name));
        let minutes = outages.min().map_or(1, |left| left.as_secs().div_ceil(60).max(1));
        let soon = if minutes == 1 { "a minute".to_owned() } else { format!("{minutes} minutes") };
        return format!("no live model works at the moment; the next try is worth while in {soon}");
    }
    format!("no live model works: {}; set it and start the gateway again", missing.join(", "))
}
