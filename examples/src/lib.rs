//! What the programs in this folder share: their options, the signals that end them, what they print.

mod options;
mod program;
mod screen;
mod shutdown;

pub use options::Options;
pub use program::run;
pub use screen::Screen;
pub use shutdown::Shutdown;

/// Whatever ends a program early; printed as one line.
pub type Failure = Box<dyn std::error::Error>;
