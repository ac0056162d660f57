//! Who leads according to the events, and for how long nobody does.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use simba_actors::{LeaseName, Token};

use crate::timing::{LEASE, leaderless};

#[derive(Debug, Default)]
pub(crate) struct Reign {
    /// The highest token of each name, over all nodes (I3).
    highest: BTreeMap<LeaseName, Token>,
    /// The term of each name on each Simba.
    terms: BTreeMap<(usize, LeaseName), Token>,
    leaders: BTreeMap<LeaseName, BTreeSet<usize>>,
    /// Since when nobody leads; kept only while somebody should.
    vacant: BTreeMap<LeaseName, Duration>,
    /// Whoever stepped down stays out until then (R17).
    out: BTreeMap<(usize, LeaseName), (Duration, Duration)>,
    crashed: BTreeSet<usize>,
    /// When a Simba last lost a session.
    expired: BTreeMap<usize, Duration>,
    /// When the storage last saw a call out of its order.
    stray: Option<Duration>,
}

impl Reign {
    pub(crate) fn begun(
        &mut self,
        now: Duration,
        life: usize,
        name: &LeaseName,
        token: Token,
    ) -> Result<(), String> {
        let highest = self.highest.insert(name.clone(), token);
        if highest >= Some(token) {
            return Err(format!("I3: {name} #{token} begins after {highest:?}"));
        }
        if let Some(open) = self.terms.insert((life, name.clone()), token) {
            return Err(format!("R3: {name} #{token} begins on life {life} before the end of #{open}"));
        }
        if let Some((since, until)) = self.out.get(&(life, name.clone()))
            && *since < now
            && now < *until
        {
            return Err(format!("R17: {name} #{token} begins, its leader stays out until {until:?}"));
        }
        if !self.crashed.contains(&life) {
            self.leaders.entry(name.clone()).or_default().insert(life);
            self.vacant.remove(name);
        }
        Ok(())
    }

    pub(crate) fn ended(
        &mut self,
        now: Duration,
        life: usize,
        name: &LeaseName,
        token: Token,
    ) -> Result<(), String> {
        let open = self.terms.remove(&(life, name.clone()));
        if open != Some(token) {
            return Err(format!("R3: {name} #{token} ends on life {life}, where {open:?} runs"));
        }
        self.vacate(now, life, name);
        Ok(())
    }

    fn vacate(&mut self, now: Duration, life: usize, name: &LeaseName) {
        let leaders = self.leaders.entry(name.clone()).or_default();
        if leaders.remove(&life) && leaders.is_empty() {
            self.vacant.insert(name.clone(), now);
        }
    }

    pub(crate) fn stays_out(&mut self, life: usize, name: &LeaseName, since: Duration, until: Duration) {
        let out = self.out.entry((life, name.clone())).or_insert((since, until));
        *out = (since, until.max(out.1));
    }

    /// A new election of that name knows nothing of the old one's step-down.
    pub(crate) fn starts_anew(&mut self, life: usize, name: &LeaseName) {
        self.out.remove(&(life, name.clone()));
    }

    pub(crate) fn crash(&mut self, now: Duration, life: usize) {
        self.crashed.insert(life);
        for name in self.led_by(life) {
            self.vacate(now, life, &name);
        }
    }

    /// A session that was given up without an answer may live on for a while.
    pub(crate) fn expired(&mut self, now: Duration, life: usize) {
        self.expired.insert(life, now);
    }

    pub(crate) fn has_expired_lately(&self, now: Duration, life: usize) -> bool {
        self.expired.get(&life).is_some_and(|at| now < *at + LEASE * 3)
    }

    /// A keep-alive that comes twice, or after it was given up, moves what the storage counts from.
    pub(crate) fn strays(&mut self, now: Duration) {
        self.stray = Some(now);
    }

    pub(crate) fn has_strayed_lately(&self, now: Duration) -> bool {
        self.stray.is_some_and(|at| now < at + LEASE * 2)
    }

    pub(crate) fn is_crashed(&self, life: usize) -> bool {
        self.crashed.contains(&life)
    }

    pub(crate) fn led_by(&self, life: usize) -> Vec<LeaseName> {
        let led = self.leaders.iter().filter(|(_, leaders)| leaders.contains(&life));
        led.map(|(name, _)| name.clone()).collect()
    }

    /// Earlier vacancies had their reasons.
    pub(crate) fn measure_from(&mut self, now: Duration, names: &[LeaseName]) {
        self.vacant.clear();
        for name in names {
            if self.leaders.get(name).is_none_or(BTreeSet::is_empty) {
                self.vacant.insert(name.clone(), now);
            }
        }
    }

    /// I10.
    pub(crate) fn check_vacancies(&self, now: Duration, names: &[LeaseName]) -> Result<(), String> {
        for name in names {
            if let Some(since) = self.vacant.get(name)
                && now > *since + leaderless()
            {
                return Err(format!("I10: nobody leads {name} since {since:?}"));
            }
        }
        Ok(())
    }
}
