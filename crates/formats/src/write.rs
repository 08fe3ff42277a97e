//! Writing what envelopes say in a framework's words, where there is no document to put together.

mod agents;
mod chat;

use crate::item::Kind;
use crate::tree::{Tree, canonical};
use crate::{Format, RULE};
use protocol::{Code, Fault};

/// What one envelope says.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) kind: Kind,
    /// Of a call the arguments, an object.
    pub(crate) content: Tree,
    pub(crate) sender: String,
    pub(crate) id: String,
    pub(crate) ts: String,
}

impl Said {
    /// The content as one text.
    fn text(&self) -> String {
        plain(&self.content)
    }

    /// The arguments as a JSON text.
    fn arguments(&self) -> String {
        let json = self.content.to_json();
        canonical(&json).unwrap_or(json)
    }

    /// The sender's name without its kind.
    fn name(&self) -> &str {
        self.sender
            .split_once('.')
            .map_or(&*self.sender, |(_, name)| name)
    }

    /// One of the words that chats know.
    fn role(&self) -> &'static str {
        match &self.kind {
            Kind::Message { role } => match &**role {
                "user" | "human" | "UserMessage" => "user",
                "system" | "developer" | "SystemMessage" => "system",
                _ => "assistant",
            },
            Kind::Call { .. } => "assistant",
            Kind::Result { .. } | Kind::Document { .. } => "user",
        }
    }
}

/// A content as people read it: a string, the texts of blocks, or JSON.
fn plain(content: &Tree) -> String {
    if let Some(text) = content.as_text() {
        return text;
    }
    if let Tree::List(blocks) = content {
        let texts: Option<Vec<_>> = blocks
            .iter()
            .map(|block| block.get("text").and_then(Tree::as_text))
            .collect();
        if let Some(texts) = texts.filter(|texts| !texts.is_empty()) {
            return texts.join("\n");
        }
    }
    let json = content.to_json();
    canonical(&json).unwrap_or(json)
}

pub(crate) fn write(said: &[(usize, Said)], format: Format) -> Result<Tree, Fault> {
    let all: Vec<&Said> = said.iter().map(|(_, said)| said).collect();
    match format {
        Format::OpenAi => Ok(chat::openai(&all)),
        Format::Anthropic => Ok(chat::anthropic(&all)),
        Format::Google => Ok(chat::google(&all)),
        Format::LangChain => Ok(chat::langchain(&all)),
        Format::LangGraph => Ok(Tree::object([("messages", chat::langchain(&all))])),
        Format::AutoGen => Ok(agents::autogen(&all)),
        Format::CrewAi => agents::crewai(said),
    }
}

/// The fault for what a format has no word for.
fn no_word(number: usize, what: &str) -> Fault {
    let detail = format!("expected {what}, got something that this framework has no word for");
    Fault::new(Code::NotTranslatable, format!("/{number}"), RULE, detail)
}
