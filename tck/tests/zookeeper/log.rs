//! What Simba logs, down to the least.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Keeps what is logged from now on, in all threads of the process.
    pub(crate) fn keep() -> Self {
        let log = Self::default();
        let filter = EnvFilter::new("simba_backends=trace");
        let kept =
            tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(log.clone());
        kept.try_init().unwrap();
        log
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
