//! The texts of a trace, each once: ids, parties and types repeat in every message.

use std::collections::HashMap;
use std::sync::Arc;

/// Stands for one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct TextId(u32);

#[derive(Debug, Default)]
pub(super) struct Texts {
    ids: HashMap<Arc<str>, TextId>,
    texts: Vec<Arc<str>>,
}

impl Texts {
    pub(super) fn keep(&mut self, text: &str) -> TextId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        // A trace has far fewer than 2^32 texts: its messages are limited.
        let id = TextId(self.texts.len() as u32);
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.ids.insert(text, id);
        id
    }

    pub(super) fn find(&self, text: &str) -> Option<TextId> {
        self.ids.get(text).copied()
    }

    pub(super) fn get(&self, id: TextId) -> &str {
        self.texts.get(id.0 as usize).map_or("", |text| text)
    }

    pub(super) fn share(&self, id: TextId) -> Arc<str> {
        self.texts
            .get(id.0 as usize)
            .map_or_else(|| "".into(), Arc::clone)
    }
}
