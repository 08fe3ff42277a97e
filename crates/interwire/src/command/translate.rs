//! `interwire translate`: envelopes in another dialect, without any exchange.

use super::validate::dialect;
use crate::failure::{Answer, Failure};
use crate::output::{self, tame};
use crate::texts;
use protocol::dialect::decode_as;
use protocol::dialect::uai::carriage::Carriage;
use protocol::dialect::uai::form::{Form, convert};
use protocol::{DialectName, Rejection, Rules};
use std::path::PathBuf;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire translate --to aep envelope.json
  interwire translate --to aee *.ndjson > aee.ndjson
  interwire translate --to uai envelope.json | interwire translate --to aee
  interwire translate --to uai --form keyless --carriage strict message.uai")]
pub struct Arguments {
    /// JSON or NDJSON files; - or none is standard input
    files: Vec<PathBuf>,
    /// The dialect: aee, aep or uai
    #[arg(long, value_name = "DIALECT", value_parser = dialect)]
    to: DialectName,
    /// With uai: keyed, minified-keyed or keyless
    #[arg(long, value_parser = form)]
    form: Option<Form>,
    /// With uai, for messages with several recipients: native, strict, or split into one for each
    #[arg(long, value_parser = carriage)]
    carriage: Option<Carriage>,
}

fn form(word: &str) -> Result<Form, String> {
    Form::parse(word).ok_or_else(|| "expected keyed, minified-keyed or keyless".into())
}

fn carriage(word: &str) -> Result<Carriage, String> {
    Carriage::parse(word).ok_or_else(|| "expected native, strict or split".into())
}

/// Prints one envelope a line; the answer is no when one cannot be translated, or there is none.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let Arguments {
        files,
        to,
        form,
        carriage,
    } = arguments;
    if (form.is_some() || carriage.is_some()) && to != DialectName::Uai {
        let what = "expected --form and --carriage only with --to uai";
        return Err(Failure::Refused(what.into()));
    }
    let (mut count, mut refused) = (0_u64, 0_u64);
    let mut found = texts::read(files);
    while let Some(text) = found.recv().await {
        let text = text?;
        count += 1;
        match translate(&text.bytes, to, form, carriage) {
            Ok(envelopes) => {
                for envelope in envelopes {
                    // Line breaks in JSON can only be insignificant space.
                    output::line(&envelope.replace(['\n', '\r'], " "))?;
                }
            }
            Err(rejection) => {
                refused += 1;
                let fault = rejection.first();
                output::note(&tame(&format!("{}: {fault}", text.origin)));
            }
        }
    }
    Ok(if count > 0 && refused == 0 {
        Answer::Yes
    } else {
        Answer::No
    })
}

fn translate(
    text: &[u8],
    to: DialectName,
    form: Option<Form>,
    carriage: Option<Carriage>,
) -> Result<Vec<String>, Rejection> {
    let envelope = protocol::translate::translate(text, to)?;
    if form.is_none() && carriage.is_none() {
        return Ok(vec![envelope]);
    }
    // What is not valid has no other form.
    let rules = Rules::at(crate::identity::now());
    decode_as(envelope.as_bytes(), DialectName::Uai, &rules).into_result()?;
    convert(envelope.as_bytes(), carriage, form)
}
