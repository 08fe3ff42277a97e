use super::{Kind, Limits, read};
use crate::Code;

fn fault(text: &[u8]) -> (Code, String) {
    let fault = read(text, Limits::default()).expect_err("expected a fault");
    (fault.code, fault.pointer)
}

#[test]
fn values_keep_their_text() {
    let text =
        r#" {"n": 9007199254740993, "f":1.10, "s":"\ud83c\udf78\u2028", "a":[1,[2],{}],"":null} "#;
    let document = read(text.as_bytes(), Limits::default()).unwrap();
    let root = document.root();
    assert_eq!(root.get("n").unwrap().raw(), "9007199254740993");
    assert_eq!(root.get("f").unwrap().raw(), "1.10");
    assert_eq!(
        root.get("s").unwrap().as_str().unwrap(),
        "\u{1f378}\u{2028}"
    );
    assert_eq!(
        root.get("a")
            .unwrap()
            .items()
            .map(super::Value::raw)
            .collect::<Vec<_>>(),
        ["1", "[2]", "{}"]
    );
    assert_eq!(root.get("").unwrap().kind(), Kind::Null);
    assert_eq!(root.at("/a/1/0").unwrap().as_i64(), Some(2));
    assert_eq!(root.members().count(), 5);
}

#[test]
fn every_defect_has_its_code_and_pointer() {
    let cases: [(&[u8], Code, &str); 22] = [
        (b"", Code::MalformedJson, ""),
        (b"{", Code::MalformedJson, ""),
        (b"{\"a\":}", Code::MalformedJson, "/a"),
        (b"{\"a\":1,}", Code::MalformedJson, "/a"),
        (b"[1,]", Code::MalformedJson, "/1"),
        (b"[01]", Code::MalformedJson, "/0"),
        (b"[1.]", Code::MalformedJson, "/0"),
        (b"[+1]", Code::MalformedJson, "/0"),
        (b"[NaN]", Code::MalformedJson, "/0"),
        (b"[\"\t\"]", Code::MalformedJson, "/0"),
        (b"[\"\\x\"]", Code::MalformedJson, "/0"),
        (b"{'a':1}", Code::MalformedJson, ""),
        (b"{} {}", Code::TrailingBytes, ""),
        (b"\xef\xbb\xbf{}", Code::ByteOrderMark, ""),
        (b"{\"a\":\"\xff\"}", Code::InvalidUtf8, "/a"),
        (
            b"{\"payload\":{\"s\":\"\\ud800\"}}",
            Code::InvalidUnicode,
            "/payload/s",
        ),
        (b"{\"s\":\"\\ud800\\u0041\"}", Code::InvalidUnicode, "/s"),
        (b"{\"s\":\"\\udc00\"}", Code::InvalidUnicode, "/s"),
        (
            b"{\"a\":1,\"b\":{\"c\":1,\"c\":2}}",
            Code::DuplicateKey,
            "/b/c",
        ),
        (b"{\"a\":1,\"\\u0061\":2}", Code::DuplicateKey, "/a"),
        (b"[{\"x~/\":[tru]}]", Code::MalformedJson, "/0/x~0~1/0"),
        (b"[1}", Code::MalformedJson, "/0"),
    ];
    for (text, code, pointer) in cases {
        assert_eq!(
            fault(text),
            (code, pointer.to_string()),
            "{}",
            String::from_utf8_lossy(text)
        );
    }
}

#[test]
fn duplicates_are_found_among_many_members() {
    let mut text = String::from("{");
    for i in 0..200 {
        text.push_str(&format!("\"k{i}\":{{\"a\":1}},"));
    }
    let good = format!("{text}\"last\":1}}");
    assert!(read(good.as_bytes(), Limits::default()).is_ok());
    let bad = format!("{text}\"k\\u0035\":1}}");
    assert_eq!(fault(bad.as_bytes()).0, Code::DuplicateKey);
}

#[test]
fn depth_and_size_are_limited_without_recursion() {
    let deep = |n: usize| [vec![b'['; n], vec![b']'; n]].concat();
    let read_deep = |n: usize| {
        read(&deep(n), Limits::default())
            .map(|_| ())
            .map_err(|f| f.code)
    };
    assert_eq!(read_deep(64), Ok(()));
    assert_eq!(read_deep(65), Err(Code::TooDeep));
    assert_eq!(read_deep(400_000), Err(Code::TooDeep));
    let small = Limits {
        bytes_max: 4,
        depth_max: 64,
    };
    assert_eq!(
        read(b"[1,2]", small).err().map(|f| f.code),
        Some(Code::TooLarge)
    );
    assert!(read(b"[12]", small).is_ok());
}

#[test]
fn a_fault_before_bad_utf8_is_named_first() {
    assert_eq!(fault(b"{\"a\" 1, \"b\":\"\xff\"}").0, Code::MalformedJson);
}

#[test]
fn integers_are_recognised_as_json_schema_does() {
    let document = read(
        b"[3, 3.0, 3e2, 3.5, 1e400, 9007199254740993]",
        Limits::default(),
    )
    .unwrap();
    let numbers: Vec<_> = document.root().items().map(super::Value::as_i64).collect();
    assert_eq!(
        numbers,
        [
            Some(3),
            Some(3),
            Some(300),
            None,
            None,
            Some(9_007_199_254_740_993)
        ]
    );
}
