//! The page about formats is made from what wrapping does.

use std::path::Path;

#[test]
fn the_page_says_what_the_program_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let made = interwire_formats::page::text();
    if std::env::var_os("INTERWIRE_WRITE_PAGE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/formats.md is not what page::text() gives; INTERWIRE_WRITE_PAGE=1 writes it"
    );
}
