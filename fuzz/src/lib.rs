//! What the fuzz targets check.
//!
//! Each target is a plain function that panics when a promise is broken. libFuzzer calls it from
//! `fuzz_targets/`; an ordinary test calls it for every file under `seeds/`.

pub mod checkpoint;
pub mod cursor;
pub mod dialect;
pub mod filter;
pub mod formats;
pub mod frame;
pub mod reader;
pub mod segment;
pub mod signed;
pub mod snapshot;
pub mod translate;

/// The name and the body of one target.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 13] = [
    ("reader", reader::run),
    ("aee", dialect::run_aee),
    ("aep", dialect::run_aep),
    ("uai", dialect::run_uai),
    ("filter", filter::run),
    ("frame", frame::run),
    ("cursor", cursor::run),
    ("checkpoint", checkpoint::run),
    ("segment", segment::run),
    ("snapshot", snapshot::run),
    ("translate", translate::run),
    ("formats", formats::run),
    ("signed", signed::run),
];

/// Whether `text` is a JSON pointer by RFC 6901.
fn is_pointer(text: &str) -> bool {
    (text.is_empty() || text.starts_with('/'))
        && text
            .split('~')
            .skip(1)
            .all(|part| part.starts_with(['0', '1']))
}

/// A fault must say where, by which rule and what. A sentence ends without a full stop, unless what
/// it shows was cut.
fn check_fault(fault: &protocol::Fault) {
    assert!(
        is_pointer(&fault.pointer),
        "the pointer is malformed: {fault}"
    );
    assert!(!fault.rule.is_empty(), "the rule is missing: {fault}");
    let is_open = fault.detail.ends_with("...") || !fault.detail.ends_with('.');
    assert!(
        !fault.detail.is_empty() && is_open,
        "the sentence is malformed: {fault}"
    );
}
