//! How a program begins and ends.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use tracing_subscriber::EnvFilter;

use crate::{
    Failure, Options, Shutdown,
    options::{self, HELP, Wish},
};

/// Wrong arguments, by convention; everything else that fails is 1.
const USAGE: u8 = 2;

/// Runs a program in an actix System: reads its options, and turns a failure into one line and an exit
/// code.
///
/// `usage` is what the help says above the options. Logs go to standard error if `RUST_LOG` asks for them.
pub fn run(
    program: &str,
    usage: &str,
    body: impl AsyncFnOnce(Options, Shutdown) -> Result<(), Failure>,
) -> ExitCode {
    let options = match options::parse(program, lexopt::Parser::from_env()) {
        Ok(Wish::Run(options)) => options,
        Ok(Wish::Help) => {
            // Who closed the pipe has read enough.
            let _ = write!(io::stdout(), "{usage}{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            report(program, &error);
            // A closed standard error leaves nobody to tell.
            let _ = write!(io::stderr(), "\n{usage}{HELP}");
            return ExitCode::from(USAGE);
        }
    };
    tracing_subscriber::fmt().with_env_filter(EnvFilter::from_default_env()).with_writer(io::stderr).init();
    let outcome = actix::System::new().block_on(async { body(options, Shutdown::new()?).await });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(program, &error);
            ExitCode::FAILURE
        }
    }
}

fn report(program: &str, error: &impl std::fmt::Display) {
    // A closed standard error leaves nobody to tell.
    let _ = writeln!(io::stderr(), "{program}: {error}");
}
