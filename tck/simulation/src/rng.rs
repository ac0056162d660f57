//! Chance, all of it from one seed.

use std::time::Duration;

/// `SplitMix64` (Steele, Lea, Flood, 2014): small, and the same on every machine and version.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator for that seed.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x5349_4d42_4121)
    }

    /// Any number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.0;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.draw() % end.max(1) as u64) as usize
    }

    /// True `per_mille` times in a thousand.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.draw() % 1000 < u64::from(per_mille)
    }

    /// A span below `most`.
    pub fn span(&mut self, most: Duration) -> Duration {
        Duration::from_nanos(self.draw() % most.as_nanos().max(1) as u64)
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
