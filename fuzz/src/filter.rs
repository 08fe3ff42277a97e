//! Filters: what is read is written back the same and chooses the same envelopes.

use protocol::json::{Limits, read};
use protocol::{Filter, Rules, Timestamp, decode};

/// `data` is a filter in JSON, a line feed, and an envelope of any dialect.
pub fn run(data: &[u8]) {
    let mut parts = data.splitn(2, |&byte| byte == b'\n');
    let (filter, envelope) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let Some(filter) = parse(filter) else { return };
    let written = filter.to_json();
    let again = parse(written.as_bytes()).expect("a written filter reads back");
    assert_eq!(again, filter);
    assert_eq!(again.to_json(), written);
    let rules = Rules::at(Timestamp::from_millis(1_772_274_600_000));
    if let Some(header) = decode(envelope, &rules).header {
        assert_eq!(filter.matches(&header), again.matches(&header));
        assert!(
            Filter::default().matches(&header),
            "an empty filter must let everything pass"
        );
    }
}

fn parse(bytes: &[u8]) -> Option<Filter> {
    let document = read(bytes, Limits::default()).ok()?;
    match Filter::from_json(document.root()) {
        Ok(filter) => Some(filter),
        Err(rejection) => {
            rejection.all().for_each(super::check_fault);
            None
        }
    }
}
