// SPDX-License-Identifier: GPL-2.0-only
//! Histograms as text: HdrHistogram's V2 form, deflated and in base64, which every
//! HdrHistogram implementation reads.
//!
//! Owns the check of what comes from outside: a few hostile bytes must neither take gigabytes
//! nor reach arithmetic that the decoder does not guard. The layout is that of the
//! HdrHistogram project ("Histogram V2 encoding"): a header of 40 bytes (cookie, length of the
//! counts, normalising offset, digits, lowest and highest value, ratio), then the counts as
//! ZigZag LEB128 numbers, negative ones for runs of zeros.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use std::io::Read;

/// The largest value that a histogram from outside may be made for: 36 years in nanoseconds.
pub const VALUE_MAX: u64 = (1 << 60) - 1;
/// Cookie, total length: what is before the deflated part.
const WRAPPER_BYTES: usize = 8;
const HEADER_BYTES: usize = 40;
/// V2, deflated.
const COOKIE_DEFLATED: u64 = 0x1c84_9314;
/// V2 with counts of up to nine bytes, not deflated a second time.
const COOKIE: u64 = 0x1c84_9313;
/// An inflated histogram of [`VALUE_MAX`] at 5 digits with a count in every bucket takes less.
const INFLATED_BYTES_MAX: u64 = 64 << 20;

/// HdrHistogram's compressed V2 form in base64.
pub fn encode(histogram: &Histogram<u64>) -> Result<String, String> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| error.to_string())?;
    Ok(BASE64.encode(bytes))
}

/// Understands what [`encode`] of this or another program made.
///
/// # Errors
/// Why it is no such histogram.
pub fn decode(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = BASE64
        .decode(text)
        .map_err(|error| format!("its histogram is no base64: {error}"))?;
    let damaged = |reason: &str| format!("its histogram is damaged: {reason}");
    let (wrapper, deflated) = bytes
        .split_at_checked(WRAPPER_BYTES)
        .ok_or_else(|| damaged("it is too short"))?;
    if half(wrapper, 0) != COOKIE_DEFLATED || half(wrapper, 4) != deflated.len() as u64 {
        return Err(damaged("it does not begin as a deflated V2 histogram"));
    }
    let mut inflated = Vec::new();
    ZlibDecoder::new(deflated)
        .take(INFLATED_BYTES_MAX)
        .read_to_end(&mut inflated)
        .map_err(|error| damaged(&error.to_string()))?;
    check(&inflated).map_err(damaged)?;
    Deserializer::new()
        .deserialize(&mut inflated.as_slice())
        .map_err(|error| damaged(&error.to_string()))
}

/// Four bytes as a number.
fn half(bytes: &[u8], at: usize) -> u64 {
    u32::from_be_bytes(std::array::from_fn(|byte| bytes[at + byte])).into()
}

/// Refuses an inflated histogram that the decoder would allocate too much for, or overflow at.
fn check(inflated: &[u8]) -> Result<(), &'static str> {
    let header = inflated.get(..HEADER_BYTES).ok_or("it is too short")?;
    let half = |at| half(header, at);
    let word = |at| half(at) << 32 | half(at + 4);
    if half(0) != COOKIE {
        return Err("it does not begin as a V2 histogram");
    }
    if half(4) != (inflated.len() - HEADER_BYTES) as u64 {
        return Err("its length is not the one in its header");
    }
    if half(12) > 5 {
        return Err("it has more than 5 digits");
    }
    let (low, high) = (word(16), word(24));
    if low > VALUE_MAX >> 20 || high > VALUE_MAX {
        return Err("its range of values is too large");
    }
    let mut rest = &inflated[HEADER_BYTES..];
    while let Some(last) = (0..rest.len().min(9)).find(|at| *at == 8 || rest[*at] < 0x80) {
        // The one number whose negation does not exist.
        if rest[..=last] == [0xff; 9] {
            return Err("a run of zeros has no length");
        }
        rest = &rest[last + 1..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::ZlibEncoder};
    use proptest::prelude::*;
    use std::io::Write;

    /// A histogram whose inflated bytes were changed.
    fn forged(change: impl FnOnce(&mut Vec<u8>)) -> Result<Histogram<u64>, String> {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 1_000_000, 3).unwrap();
        histogram.record(7).unwrap();
        let bytes = BASE64.decode(encode(&histogram).unwrap()).unwrap();
        let mut inflated = Vec::new();
        ZlibDecoder::new(&bytes[WRAPPER_BYTES..])
            .read_to_end(&mut inflated)
            .unwrap();
        change(&mut inflated);
        let mut deflater = ZlibEncoder::new(Vec::new(), Compression::fast());
        deflater.write_all(&inflated).unwrap();
        let deflated = deflater.finish().unwrap();
        let mut out = bytes[..4].to_vec();
        out.extend(u32::try_from(deflated.len()).unwrap().to_be_bytes());
        out.extend(deflated);
        decode(&BASE64.encode(out))
    }

    #[test]
    fn hostile_headers_are_refused() {
        assert_eq!(forged(|_| {}).unwrap().len(), 1);
        let reason = |change: fn(&mut Vec<u8>)| forged(change).unwrap_err();
        assert!(reason(|bytes| bytes[3] ^= 7).contains("V2"));
        assert!(reason(|bytes| bytes[4] = 0xff).contains("length"));
        assert!(reason(|bytes| bytes[15] = 9).contains("5 digits"));
        assert!(reason(|bytes| bytes[24] = 0xff).contains("too large"));
        assert!(reason(|bytes| bytes[16] = 1).contains("too large"));
        assert!(reason(|bytes| bytes.truncate(20)).contains("too short"));
        assert!(
            reason(|bytes| {
                bytes.extend([0xff; 9]);
                bytes[7] += 9;
            })
            .contains("run of zeros")
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(at in 0..60_usize, value: u8) {
            let _ = forged(|bytes| {
                let at = at % bytes.len();
                bytes[at] = value;
            });
        }

        #[test]
        fn no_text_makes_it_panic(text in "[A-Za-z0-9+/=]{0,80}") {
            let _ = decode(&text);
        }
    }
}
