//! CRC-16/IBM-3740: polynomial 0x1021, initial value 0xFFFF, not reflected, not inverted.

const POLYNOMIAL: u16 = 0x1021;
const START: u16 = 0xFFFF;
const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = remainder((byte as u16) << 8);
        byte += 1;
    }
    table
}

const fn remainder(mut value: u16) -> u16 {
    let mut bit = 0;
    while bit < 8 {
        value = if value & 0x8000 != 0 { (value << 1) ^ POLYNOMIAL } else { value << 1 };
        bit += 1;
    }
    value
}

/// Returns the checksum of `bytes`. Real-time: one table lookup per byte.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(START, |crc, byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_value_of_the_catalogue_holds() {
        assert_eq!(crc16(b"123456789"), 0x29B1);
    }

    #[test]
    fn nothing_gives_the_start_value() {
        assert_eq!(crc16(&[]), 0xFFFF);
    }
}
