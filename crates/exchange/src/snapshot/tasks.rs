//! The tasks as a part; their bytes are written where they are.

use super::Part;
use crate::settings::Settings;
use protocol::Tasks;
use protocol::wire::{Reader, WireError};

impl Part for Tasks {
    const TAG: u8 = 5;
    const NAME: &'static str = "tasks";
    const VERSION: u8 = 2;

    fn encode(&self, out: &mut Vec<u8>) {
        Tasks::encode(self, out);
    }

    fn decode(reader: &mut Reader<'_>, settings: &Settings) -> Result<Self, WireError> {
        Tasks::decode(reader, settings.tasks)
    }
}
