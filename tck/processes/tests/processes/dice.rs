//! Which process is hit next; the same seed hits the same.

/// SplitMix64.
pub(crate) struct Dice(u64);

impl Dice {
    /// Takes the seed from `SIMBA_SEED`, or one of its own, and tells it.
    pub(crate) fn new() -> Self {
        let seed = std::env::var("SIMBA_SEED").map(|seed| seed.parse().expect("SIMBA_SEED is a number"));
        let seed = seed.unwrap_or_else(|_| u64::from(std::process::id()));
        println!("SIMBA_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let index = (mixed ^ (mixed >> 31)) % among.len() as u64;
        among[usize::try_from(index).expect("it is below a length")]
    }
}
