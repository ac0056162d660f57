//! What a program prints: what happened line by line, and below it how things stand.

use std::{
    cell::RefCell,
    io::{self, IsTerminal, Write},
    rc::Rc,
};

/// Standard output. On a terminal the last line is kept up to date in place; elsewhere, each change is a
/// line. A clone writes to the same screen.
#[derive(Clone, Debug)]
pub struct Screen {
    kind: Kind,
    status: Rc<RefCell<String>>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Terminal,
    Lines,
}

/// Goes to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[K";

impl Screen {
    /// Standard output as it is.
    pub fn new() -> Self {
        let kind = if io::stdout().is_terminal() { Kind::Terminal } else { Kind::Lines };
        Self { kind, status: Rc::default() }
    }

    /// Prints what happened; it stays.
    pub fn event(&self, text: &str) {
        self.status.borrow_mut().clear();
        match self.kind {
            Kind::Terminal => print(&format!("{CLEAR}{text}\n")),
            Kind::Lines => print(&format!("{text}\n")),
        }
    }

    /// Prints how things stand, until the next of either.
    pub fn status(&self, text: &str) {
        if self.status.replace(text.to_owned()) == text {
            return;
        }
        match self.kind {
            Kind::Terminal => print(&format!("{CLEAR}{text}")),
            Kind::Lines => print(&format!("{text}\n")),
        }
    }
}

impl Default for Screen {
    fn default() -> Self {
        Self::new()
    }
}

fn print(text: &str) {
    let mut out = io::stdout().lock();
    // Who closed the pipe has read enough; the program goes on leading.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
