//! What each user heard of its election: `(E t, R t)*`, tokens rising, nothing after the end.

use simba_actors::Token;

#[derive(Debug)]
pub(crate) struct Diary {
    who: String,
    /// The Simba it belongs to.
    life: usize,
    last: Option<Token>,
    open: Option<Token>,
    state: State,
    ear: Ear,
    panics: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Listening,
    /// Its election was stopped, or Simba closed.
    Stopped,
    /// It is dead, or was dropped: what was sent to it is lost.
    Gone,
}

/// Whether a user hears at once what it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ear {
    Open,
    /// Its handlers hold up its mailbox.
    Blocked,
}

impl Diary {
    pub(crate) fn new(who: String, life: usize, ear: Ear) -> Self {
        Self { who, life, last: None, open: None, state: State::Listening, ear, panics: 0 }
    }

    pub(crate) fn life(&self) -> usize {
        self.life
    }

    pub(crate) fn elected(&mut self, token: Token) -> Result<(), String> {
        self.ear_is_in_time().map_err(|error| format!("{error}: Elected #{token}"))?;
        let Self { who, last, open, .. } = &*self;
        if let Some(open) = open {
            return Err(format!("I5: {who} hears Elected #{token} before Revoked #{open}"));
        }
        if *last >= Some(token) {
            return Err(format!("I5: {who} hears Elected #{token} after {last:?}"));
        }
        (self.last, self.open) = (Some(token), Some(token));
        Ok(())
    }

    pub(crate) fn revoked(&mut self, token: Token) -> Result<(), String> {
        self.ear_is_in_time().map_err(|error| format!("{error}: Revoked #{token}"))?;
        let Self { who, open, .. } = &*self;
        if *open != Some(token) {
            return Err(format!("I5: {who} hears Revoked #{token}, and its term is {open:?}"));
        }
        self.open = None;
        Ok(())
    }

    /// I14.
    fn ear_is_in_time(&self) -> Result<(), String> {
        match (self.state, self.ear) {
            (State::Stopped, Ear::Open) => Err(format!("I14: {} hears after the end", self.who)),
            _ => Ok(()),
        }
    }

    /// After the first panic a supervised actor is back at once; after more of them its mailbox waits.
    pub(crate) fn panicked(&mut self, comes_back: bool) {
        self.panics += 1;
        if self.panics > 1 {
            self.ear = Ear::Blocked;
        }
        if !comes_back {
            self.state = State::Gone;
        }
    }

    pub(crate) fn gone(&mut self) {
        if self.state == State::Listening {
            self.state = State::Gone;
        }
    }

    /// The election has ended for everybody: every `Revoked` was sent.
    pub(crate) fn stopped(&mut self) -> Result<(), String> {
        if self.state != State::Listening {
            return Ok(());
        }
        self.state = State::Stopped;
        match (self.open, self.ear) {
            (Some(token), Ear::Open) => Err(format!("I5: {} never hears Revoked #{token}", self.who)),
            _ => Ok(()),
        }
    }
}
