//! Who said it, and proof of what was said: signatures over envelopes of every dialect, the keys they
//! are judged by, and evidence that a reader can check without the exchange.
//!
//! Pure: no file, no clock, no randomness and no network. Keys, moments and random bytes are
//! arguments, and nothing that a message names is ever fetched.
//!
//! - [`KeyRing`]: whose keys are known, for which parties, and when.
//! - [`sign`], [`verify`]: signatures of AEE (`sig`), AEP (`interwire_signature`) and UAI-1 (detached
//!   JWS in `urn:uai:ext:signature`).
//! - [`volt`]: evidence as VOLT 0.1 bundles, written and verified.
//! - [`ward`]: content-free witness chains and their tips, WARD 0.1.
#![doc(html_no_source)]

mod base64url;
mod did;
mod edit;
mod key;
mod key_ring;
mod sign;
mod verdict;
pub mod volt;
pub mod ward;

pub use did::{did_key, read_did_key};
pub use key::{Algorithm, KeyError, PublicKey, SecretKey};
pub use key_ring::{KeyRing, Known, Standing};
pub use sign::{Signer, sign, verify};
pub use verdict::{Binding, Judgement, Verdict};
