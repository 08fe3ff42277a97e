//! The cases that the exchange is judged by, one file each, named by their number: what is given, what
//! is done, what must come of it, through every door that has it.

mod t01_exact_tail;
mod t02_expired_cursor;
mod t03_wrong_cursor;
mod t04_crash_after_ack;
mod t05_id_rules;
mod t06_slow_reader;
mod t07_poison;
mod t08_lease_fencing;
mod t09_fan_out_receipts;
mod t15_bytes;
mod t16_time_and_ids;
mod t18_drain;
mod t19_directory;
mod t20_idle;
