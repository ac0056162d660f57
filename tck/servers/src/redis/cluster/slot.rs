//! Which slot a key is in.

const SLOTS: u16 = 16_384;

/// Of what stands in the first braces, if anything does; else of all of it.
pub(super) fn of(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    crc16(tag.filter(|tag| !tag.is_empty()).unwrap_or(key)) % SLOTS
}

/// CRC-16/XMODEM.
fn crc16(text: &str) -> u16 {
    text.bytes().fold(0, |crc: u16, byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            let shifted = crc << 1;
            if crc & 0x8000 == 0 { shifted } else { shifted ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16("123456789"), 0x31c3);
        assert_eq!(of("{user1000}.following"), of("user1000"));
        assert_eq!(of("foo{}{bar}"), crc16("foo{}{bar}") % SLOTS);
        assert_eq!(of("foo{{bar}}"), of("{bar"));
        assert_eq!(of("foo{bar}{zap}"), of("bar"));
    }
}
