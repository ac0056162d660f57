//! The scripts, and a call of one.

use std::sync::LazyLock;

use redis::{Cmd, cmd};

/// A script that Redis runs as a whole: nothing happens between two of its commands.
pub(super) struct Script {
    text: &'static str,
    /// What Redis knows it by once it has seen it.
    hash: LazyLock<String>,
}

impl Script {
    const fn new(text: &'static str, hash: fn() -> String) -> Self {
        Self { text, hash: LazyLock::new(hash) }
    }
}

/// The scripts of these names, each with what they all know in front.
macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(
            pub(super) static $name: Script = Script::new(
                concat!(include_str!("lua/prelude.lua"), include_str!(concat!("lua/", $file))),
                || redis::Script::new($name.text).get_hash().to_owned(),
            );
        )*
    };
}

scripts! {
    OPEN = "open.lua";
    KEEP_ALIVE = "keep_alive.lua";
    RENEW = "renew.lua";
    LIST = "list.lua";
    EXTEND = "extend.lua";
    EXTEND_MEMBERSHIPS = "extend_memberships.lua";
    FORGET = "forget.lua";
    CLOSE = "close.lua";
    FREE = "free.lua";
    DROP = "drop.lua";
    INTEND = "intend.lua";
    ACQUIRE = "acquire.lua";
    GRANT = "grant.lua";
    RELEASE = "release.lua";
    JOIN = "join.lua";
    ENROLL = "enroll.lua";
    LEAVE = "leave.lua";
    UNLIST = "unlist.lua";
    MEMBERS = "members.lua";
    INSPECT = "inspect.lua";
    DESCRIBE = "describe.lua";
    LOOK = "look.lua";
    CHECK = "check.lua";
}

/// A call of a script. On a cluster all its keys are in one hash slot.
pub(super) struct Call {
    script: &'static Script,
    form: Form,
    keys: Vec<String>,
    arguments: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As what the server has seen before.
    ByHash,
    InFull,
}

impl Call {
    pub(super) fn new(script: &'static Script) -> Self {
        Self { script, form: Form::ByHash, keys: Vec::new(), arguments: Vec::new() }
    }

    /// Sends the script's text also to a server that has seen it.
    #[must_use]
    pub(super) fn in_full(mut self) -> Self {
        self.form = Form::InFull;
        self
    }

    #[must_use]
    pub(super) fn key(mut self, key: String) -> Self {
        self.keys.push(key);
        self
    }

    #[must_use]
    pub(super) fn keys(mut self, keys: impl IntoIterator<Item = String>) -> Self {
        self.keys.extend(keys);
        self
    }

    #[must_use]
    pub(super) fn arg(mut self, argument: impl ToString) -> Self {
        self.arguments.push(argument.to_string());
        self
    }

    #[must_use]
    pub(super) fn args(mut self, arguments: impl IntoIterator<Item = impl ToString>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.to_string()));
        self
    }

    /// The key that says where the call belongs.
    pub(super) fn first_key(&self) -> &str {
        self.keys.first().expect("each call has a key")
    }

    /// Short, for a server that has seen the script.
    pub(super) fn evalsha(&self) -> Cmd {
        match self.form {
            Form::ByHash => self.command("EVALSHA", &self.script.hash),
            Form::InFull => self.eval(),
        }
    }

    /// With the text; from then on the server has seen the script.
    pub(super) fn eval(&self) -> Cmd {
        self.command("EVAL", self.script.text)
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = cmd(name);
        command.arg(script).arg(self.keys.len()).arg(&self.keys).arg(&self.arguments);
        command
    }
}
