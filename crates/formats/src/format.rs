//! The frameworks that are known.

/// A framework, by its own form of calls, results and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Chat Completions with tool calls and the older function call; items of the Responses API.
    OpenAi,
    /// Messages with `tool_use` and `tool_result` blocks.
    Anthropic,
    /// Contents with function calls and responses; function declarations.
    Google,
    /// Messages in the three forms that langchain-core writes; agent actions, steps and finishes.
    LangChain,
    /// Streams of updates, values, tasks and checkpoints; snapshots of a state.
    LangGraph,
    /// Messages and events of agentchat, messages of core, results and responses.
    AutoGen,
    /// Outputs of tasks and of crews.
    CrewAi,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Google,
        Self::LangChain,
        Self::LangGraph,
        Self::AutoGen,
        Self::CrewAi,
    ];

    /// The word on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Google => "google",
            Self::LangChain => "langchain",
            Self::LangGraph => "langgraph",
            Self::AutoGen => "autogen",
            Self::CrewAi => "crewai",
        }
    }

    /// The reverse of [`Self::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}
