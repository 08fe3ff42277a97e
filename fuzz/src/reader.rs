//! The strict reader and the canonical writer.

use protocol::Code;
use protocol::canonical::canonicalize;
use protocol::json::{Integer, Kind, Limits, Value, push_string, read};

/// Reads `data`; when it is accepted, every value in it must read back the same, by place and by
/// text, and its canonical text must be canonical.
pub fn run(data: &[u8]) {
    for depth_max in [4, 64] {
        match read(
            data,
            Limits {
                bytes_max: 1 << 20,
                depth_max,
            },
        ) {
            Ok(document) => {
                assert_eq!(document.text().as_bytes(), data);
                check_value(document.root(), 0);
                check_canonical(document.root());
            }
            Err(fault) => super::check_fault(&fault),
        }
    }
}

fn check_value(value: Value<'_>, depth: usize) {
    assert!(depth <= 64, "the depth limit was passed");
    let again = read(value.raw().as_bytes(), Limits::default()).expect("a part reads alone");
    assert_eq!(again.root().kind(), value.kind());
    assert_eq!(again.root().raw(), value.raw());
    match value.kind() {
        Kind::Null | Kind::Bool => {}
        Kind::Number => {
            if let (Some(Integer::Fits(integer)), Some(double)) =
                (value.as_integer(), value.as_f64())
            {
                assert_eq!(integer as f64, double);
            }
        }
        Kind::String => {
            let text = value.as_str().expect("a string has text");
            let mut written = String::new();
            push_string(&mut written, &text);
            let again = read(written.as_bytes(), Limits::default()).expect("our own string reads");
            assert_eq!(again.root().as_str().as_deref(), Some(&*text));
        }
        Kind::Array => value.items().for_each(|item| check_value(item, depth + 1)),
        Kind::Object => {
            for (key, member) in value.members() {
                let found = value
                    .get(&key.text())
                    .expect("a member is found by its name");
                assert_eq!(found.range(), member.range());
                check_value(member, depth + 1);
            }
        }
    }
}

fn check_canonical(value: Value<'_>) {
    let text = match canonicalize(value, &[]) {
        Ok(text) => text,
        Err(fault) => {
            assert_eq!(fault.code, Code::NumberNotInteroperable);
            let place = value
                .at(&fault.pointer)
                .expect("the pointer leads to the number");
            assert_eq!(place.kind(), Kind::Number);
            return;
        }
    };
    // Canonical numbers may be longer than what was read: room for the longest.
    let limits = Limits {
        bytes_max: 1 << 26,
        depth_max: 64,
    };
    let document = read(text.as_bytes(), limits).expect("canonical text is JSON");
    match canonicalize(document.root(), &[]) {
        Ok(again) => assert_eq!(again, text),
        // A large double without a fraction is written as an integer, which is refused.
        Err(fault) => assert_eq!(fault.code, Code::NumberNotInteroperable),
    }
}
