//! `docs/translation.md` is what the tables say.

use interwire_protocol::translate::page;

/// `INTERWIRE_WRITE_DOCS=1` writes the page instead.
#[test]
fn the_page_about_translation_is_what_the_code_gives() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/translation.md");
    if std::env::var_os("INTERWIRE_WRITE_DOCS").is_some() {
        std::fs::write(&path, page::text()).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap();
    assert_eq!(page, page::text(), "INTERWIRE_WRITE_DOCS=1 writes it anew");
}
