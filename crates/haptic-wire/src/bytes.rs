//! Reads and writes little-endian integers at an offset in a slice. Callers check the length of the slice first.

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

pub(crate) fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

pub(crate) fn read_i16(bytes: &[u8], at: usize) -> i16 {
    i16::from_le_bytes(array(bytes, at))
}

pub(crate) fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

pub(crate) fn read_i32(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(array(bytes, at))
}

pub(crate) fn read_eight(bytes: &[u8], at: usize) -> [u8; 8] {
    array(bytes, at)
}

pub(crate) fn write<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}
