//! Chance from a seed: the same seed, the same draws.

use std::{ops::Range, time::Duration};

/// `SplitMix64` (Steele, Lea, Flood, 2014).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0) % sides
    }

    /// Says yes in so many of a thousand cases.
    pub(crate) fn happens(&mut self, per_mille: u64) -> bool {
        self.roll(1000) < per_mille
    }

    pub(crate) fn millis(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(range.start + self.roll(range.end - range.start))
    }
}

/// A draw that depends on its inputs and not on how many were made before.
pub(crate) fn draw(seed: u64, text: &str, number: u64) -> u64 {
    text.bytes().fold(mix(seed ^ number), |draw, byte| mix(draw ^ u64::from(byte)))
}

const fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
