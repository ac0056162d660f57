//! The one thread that starts servers.
//!
//! The kernel kills a server (`setpriv --pdeathsig`) when the *thread* that started it ends, not the process.
//! So this one never does.

use std::{
    io,
    process::{Child, Command},
    sync::{
        OnceLock,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

struct Order {
    command: Command,
    answer: Sender<io::Result<Child>>,
}

/// Starts the command so that it lives no longer than this process.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    static ORDERS: OnceLock<Sender<Order>> = OnceLock::new();
    let (answer, child) = channel();
    let order = Order { command, answer };
    ORDERS.get_or_init(open).send(order).expect("the nursery never closes");
    child.recv().expect("the nursery answers each order")
}

#[expect(clippy::disallowed_methods, reason = "servers must not die with a thread of the test's runtime")]
fn open() -> Sender<Order> {
    let (orders, incoming) = channel();
    thread::Builder::new()
        .name("nursery".into())
        .spawn(move || work(incoming))
        .expect("a process can start a thread");
    orders
}

fn work(incoming: Receiver<Order>) {
    for mut order in incoming {
        // Whoever ordered it waits for it.
        let _ = order.answer.send(order.command.spawn());
    }
}
