//! What a program is told on its command line.

use std::{str::FromStr, time::Duration};

use lexopt::{Arg, ValueExt};
use simba_actors::{LeaseName, SimbaConfig};

/// The options of all programs here.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Where the leases are kept.
    pub storage: String,
    /// How long a crash can go unnoticed.
    pub lease: Duration,
    /// What is contended for.
    pub name: LeaseName,
    /// How long a lock is held.
    pub hold: Duration,
}

/// What the command line asks for.
pub(crate) enum Wish {
    Run(Options),
    Help,
}

/// The options that every program has.
pub(crate) const HELP: &str =
    "  --storage URL    where the leases are kept   [sqlite://simba.db in the working directory];
                   with cargo features also postgres:, mysql:, redis:, redis+sentinel:, redis+cluster:,
                   zookeeper:
  --lease SECONDS  how long the storage keeps a process that is gone   [15]
  --name NAME      what is contended for   [the name of the program]
  -h, --help       this page
";

impl Options {
    fn of(program: &str) -> Self {
        Self {
            storage: "sqlite://simba.db".to_owned(),
            lease: Duration::from_secs(15),
            name: program.parse().expect("a program is named by letters"),
            hold: Duration::from_secs(5),
        }
    }

    /// The storage as it may be shown: without password and parameters.
    pub fn place(&self) -> String {
        let url = self.storage.split('?').next().unwrap_or_default();
        let without_password = url.split_once("://").and_then(|(scheme, rest)| {
            // Of a password with a slash in it, all must go.
            let authority = rest.split('/').next()?;
            let end = authority.rfind('@').or_else(|| rest.rfind('@'))?;
            let (credentials, host) = rest.split_at(end);
            match credentials.split_once(':')?.0 {
                "" => Some(format!("{scheme}://{}", &host[1..])),
                user => Some(format!("{scheme}://{user}{host}")),
            }
        });
        without_password.unwrap_or_else(|| url.to_owned())
    }

    /// The settings of a Simba; all but the lease are the defaults.
    ///
    /// # Errors
    ///
    /// A lease that is out of range.
    pub fn config(&self) -> Result<SimbaConfig, simba_actors::ConfigError> {
        SimbaConfig::builder().lease(self.lease).build()
    }
}

/// Reads the arguments that follow the program's name.
pub(crate) fn parse(program: &str, mut arguments: lexopt::Parser) -> Result<Wish, lexopt::Error> {
    let mut options = Options::of(program);
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Wish::Help),
            Arg::Long("storage") => options.storage = arguments.value()?.string()?,
            Arg::Long("name") => options.name = value("--name", &mut arguments)?,
            Arg::Long("lease") => options.lease = seconds("--lease", &mut arguments)?,
            Arg::Long("hold") if program == "lock" => options.hold = seconds("--hold", &mut arguments)?,
            unknown @ (Arg::Short(_) | Arg::Long(_) | Arg::Value(_)) => return Err(unknown.unexpected()),
        }
    }
    Ok(Wish::Run(options))
}

fn seconds(option: &str, arguments: &mut lexopt::Parser) -> Result<Duration, lexopt::Error> {
    let given: f64 = value(option, arguments)?;
    Duration::try_from_secs_f64(given).map_err(|error| format!("{option} {given}: {error}").into())
}

fn value<T>(option: &str, arguments: &mut lexopt::Parser) -> Result<T, lexopt::Error>
where
    T: FromStr<Err: std::fmt::Display>,
{
    let given = arguments.value()?.string()?;
    given.parse().map_err(|error| format!("{option} {given}: {error}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(program: &str, arguments: &[&str]) -> Result<Options, String> {
        match parse(program, lexopt::Parser::from_args(arguments)) {
            Ok(Wish::Run(options)) => Ok(options),
            Ok(Wish::Help) => Err("help".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn without_arguments_a_program_contends_for_its_own_name_in_a_file_here() {
        let options = parsed("failover", &[]).unwrap();
        assert_eq!(options.name.as_str(), "failover");
        assert_eq!(options.storage, "sqlite://simba.db");
        assert_eq!(options.lease, SimbaConfig::default().lease());
    }

    #[test]
    fn seconds_may_have_fractions() {
        let options = parsed("lock", &["--lease=1.5", "--hold", "0"]).unwrap();
        assert_eq!((options.lease, options.hold), (Duration::from_millis(1_500), Duration::ZERO));
    }

    #[test]
    fn a_password_is_not_shown() {
        for (url, shown) in [
            ("sqlite:///var/simba.db", "sqlite:///var/simba.db"),
            ("postgres://h/d?password=secret", "postgres://h/d"),
            ("postgres://me@h:1/d", "postgres://me@h:1/d"),
            ("postgres://me:se@cr:et@h:1/d", "postgres://me@h:1/d"),
            ("mysql://me:@h", "mysql://me@h"),
            ("mysql://me:se/cret@h/d", "mysql://me@h/d"),
            ("rediss://:secret@h:1/2", "rediss://h:1/2"),
            ("redis://me@h", "redis://me@h"),
            (
                "redis+sentinel://me:secret@h:1,i:2,[::1]:3/main?wait_replicas=1",
                "redis+sentinel://me@h:1,i:2,[::1]:3/main",
            ),
            ("redis+cluster://me:secret@h:1,me:secret@i:2", "redis+cluster://me@i:2"),
            ("zookeeper://zk1:2181,zk2/simba", "zookeeper://zk1:2181,zk2/simba"),
            ("zookeeper://me:secret@zk1,zk2:1/simba?keep_alive=write", "zookeeper://me@zk1,zk2:1/simba"),
            ("secret", "secret"),
        ] {
            assert_eq!(parsed("failover", &["--storage", url]).unwrap().place(), shown);
        }
    }

    #[test]
    fn a_refusal_names_the_argument() {
        for (arguments, part) in [
            (vec!["--lease", "-1"], "--lease -1"),
            (vec!["--lease", "soon"], "--lease soon"),
            (vec!["--lease"], "--lease"),
            (vec!["--name", "a b"], "--name a b"),
            (vec!["--hold", "1"], "--hold"),
            (vec!["--fast"], "--fast"),
            (vec!["now"], "now"),
        ] {
            let error = parsed("failover", &arguments).unwrap_err();
            assert!(error.contains(part), "{arguments:?}: {error}");
        }
    }
}
