//! The real program under everything that can happen to it, judged from outside: every call and every
//! answer is written down, and a checker that knows nothing of the program decides
//! (`testkit::history`).

#[cfg(target_os = "linux")]
mod clock;
mod doors;
#[cfg(target_os = "linux")]
mod full_disk;
mod kills;
mod letters;
mod stopped_reader;
mod witness;
mod work;
