//! A way to a broker on which connections can be cut.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Passes connections on; ends with the test.
pub struct Proxy {
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    /// From a listener to a port of this machine.
    pub fn start(listener: TcpListener, to: u16) -> Self {
        let open = Arc::new(Mutex::new(Vec::new()));
        let accepted = Arc::clone(&open);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                // While the broker is not there a connection is cut at once.
                let Ok(far) = TcpStream::connect(("127.0.0.1", to)) else {
                    continue;
                };
                pass(&near, &far);
                pass(&far, &near);
                accepted.lock().unwrap().extend([near, far]);
            }
        });
        Self { open }
    }

    /// Cuts every connection that is open, whatever is under way on it; how many there were.
    pub fn cut(&self) -> usize {
        let open = std::mem::take(&mut *self.open.lock().unwrap());
        let cut = open
            .iter()
            .filter(|one| one.shutdown(Shutdown::Both).is_ok());
        cut.count() / 2
    }
}

fn pass(from: &TcpStream, to: &TcpStream) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    std::thread::spawn(move || {
        // Either side may end it.
        drop(std::io::copy(&mut from, &mut to));
        drop(to.shutdown(Shutdown::Both));
        drop(from.shutdown(Shutdown::Both));
    });
}
