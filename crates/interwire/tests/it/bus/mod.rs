//! Message brokers as doors: real brokers on free ports, killed and started again, and foreign clients in
//! Python.

mod driver;
#[cfg(feature = "kafka")]
mod kafka;
mod load;
mod nats;
mod pair;
#[cfg(feature = "kafka")]
mod proxy;
mod redis;
mod watch;
