//! Filters in AEP's spelling (AEP 4.1).

use protocol::filter::Field;
use protocol::json::{Kind, Limits, Value, push_string, read as read_json};
use protocol::session::DeliveryMode;
use protocol::{Code, Fault, Filter, Rejection};

/// The filter of a request: under `filter`, or the body itself, or nothing for everything. Without a
/// `dialect` only AEP events are meant: a client of this API knows no others.
pub(super) fn read(body: &[u8]) -> Result<Filter, Rejection> {
    if body.trim_ascii().is_empty() {
        return of_aep(Filter::default());
    }
    let document = read_json(body, Limits::default())?;
    let root = document.root();
    let (value, prefix) = match root.get("filter") {
        Some(value) if value.is_null() => return of_aep(Filter::default()),
        Some(value) => (value, "/filter"),
        None => (root, ""),
    };
    let filter = Filter::from_json(value)
        .map_err(|refused| crate::http::subscriptions::below(prefix, &refused))?;
    check_manner(value, prefix)?;
    of_aep(filter)
}

/// What a request says of how, besides what.
fn check_manner(filter: Value<'_>, prefix: &str) -> Result<(), Fault> {
    let said = |name: &str| filter.get(name).filter(|value| !value.is_null());
    if said("from_cursor").is_some() {
        let detail = "expected no `from_cursor`: a subscription of this API begins when it is made; \
                      its stream goes on after `Last-Event-ID`";
        let pointer = format!("{prefix}/from_cursor");
        return Err(Fault::new(
            Code::SubscriptionRejected,
            pointer,
            "AEP 4.3",
            detail,
        ));
    }
    // Whatever is asked for: what is kept until it was read is no less.
    match said("delivery_mode") {
        Some(mode)
            if mode
                .as_str()
                .and_then(|mode| DeliveryMode::parse(&mode))
                .is_none() =>
        {
            let detail = "expected `delivery_mode` to be best_effort, at_least_once or replayable";
            let pointer = format!("{prefix}/delivery_mode");
            Err(Fault::new(
                Code::FilterMalformed,
                pointer,
                "AEP 4.1",
                detail,
            ))
        }
        Some(_) | None => Ok(()),
    }
}

fn of_aep(filter: Filter) -> Result<Filter, Rejection> {
    if filter.values(Field::Dialect).is_some() {
        return Ok(filter);
    }
    // Through its text, so that a list without values stays one.
    let text = filter.to_json();
    let rest = text.strip_prefix('{').unwrap_or_default();
    let comma = if rest == "}" { "" } else { "," };
    let text = format!("{{\"dialect\":[\"aep\"]{comma}{rest}");
    let document = read_json(text.as_bytes(), Limits::default())?;
    debug_assert_eq!(document.root().kind(), Kind::Object);
    Filter::from_json(document.root())
}

/// The filter as AEP writes it: one value as a string, several as a list.
pub(super) fn write(out: &mut String, filter: &Filter) {
    out.push('{');
    let mut is_first = true;
    for (field, values) in filter.terms() {
        if field == Field::Dialect && matches!(values, [only] if **only == *"aep") {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            out.push(',');
        }
        push_string(out, name(field));
        out.push(':');
        match values {
            [only] => push_string(out, only),
            several => {
                out.push('[');
                for (at, value) in several.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    push_string(out, value);
                }
                out.push(']');
            }
        }
    }
    out.push('}');
}

fn name(field: Field) -> &'static str {
    match field {
        Field::Type => "types",
        Field::Conversation => "conversation_id",
        Field::Task => "task_id",
        Field::Session => "session_id",
        Field::Dialect
        | Field::Intent
        | Field::Priority
        | Field::Source
        | Field::Target
        | Field::Topic => field.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    fn round(body: &str) -> String {
        let mut out = String::new();
        write(&mut out, &read(body.as_bytes()).unwrap());
        out
    }

    #[test]
    fn filters_come_back_in_the_spelling_that_clients_know() {
        assert_eq!(
            round(r#"{"filter":{"types":"task.*"}}"#),
            r#"{"types":"task.*"}"#
        );
        assert_eq!(
            round(r#"{"types":["task.*","tool.*"],"session_id":"s"}"#),
            r#"{"session_id":"s","types":["task.*","tool.*"]}"#
        );
        for everything in ["", " ", "{}", r#"{"filter":{}}"#, r#"{"filter":null}"#] {
            assert_eq!(round(everything), "{}", "{everything}");
        }
        assert_eq!(round(r#"{"types":[]}"#), r#"{"types":[]}"#, "wants nothing");
        assert_eq!(round(r#"{"dialect":"uai"}"#), r#"{"dialect":"uai"}"#);
    }

    #[test]
    fn a_filter_that_cannot_match_is_refused_where_it_is_made() {
        let pointer = |body: &str| read(body.as_bytes()).unwrap_err().first().pointer.clone();
        assert_eq!(pointer(r#"{"types":42}"#), "/types");
        assert_eq!(pointer(r#"{"filter":{"types":42}}"#), "/filter/types");
        assert_eq!(pointer(r#"{"filter":{"source":[1]}}"#), "/filter/source/0");
        assert_eq!(pointer(r#"{"filter":{"typ":"x"}}"#), "/filter/typ");
        assert_eq!(pointer(r#"{"filter":7}"#), "/filter");
        assert_eq!(pointer(r#"[]"#), "");
        assert_eq!(
            pointer(r#"{"filter":{"from_cursor":"x"}}"#),
            "/filter/from_cursor"
        );
        assert_eq!(
            pointer(r#"{"delivery_mode":"sometimes"}"#),
            "/delivery_mode"
        );
        assert!(read(b"{").is_err());
    }
}
