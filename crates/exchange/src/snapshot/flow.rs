//! The AEP flow as a part; its bytes are written where the flow is.

use super::Part;
use crate::settings::Settings;
use protocol::dialect::aep::flow::Flow;
use protocol::wire::{Reader, WireError};

impl Part for Flow {
    const TAG: u8 = 2;
    const NAME: &'static str = "flow";
    const VERSION: u8 = 1;

    fn encode(&self, out: &mut Vec<u8>) {
        Flow::encode(self, out);
    }

    fn decode(reader: &mut Reader<'_>, _: &Settings) -> Result<Self, WireError> {
        Flow::decode(reader)
    }
}
