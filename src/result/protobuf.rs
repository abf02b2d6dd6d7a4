// SPDX-License-Identifier: GPL-2.0-only
//! Messages in protobuf's wire format, written field by field: what Perfetto and Prometheus read.
//!
//! A field that is not there is not written. Fields are written in the order of the calls; who
//! calls in the order of their numbers has the bytes that generated code writes. Reads nothing.
//!
//! Source: "Encoding" of protobuf.dev; the wire format itself is the crate micropb's.

use micropb::{PbEncoder, Tag};

/// Wire types.
const VARINT: u8 = 0;
const EIGHT_BYTES: u8 = 1;
const LENGTH: u8 = 2;

/// A message that is being written.
pub struct Message(PbEncoder<Vec<u8>>);

impl Default for Message {
    fn default() -> Self {
        Self(PbEncoder::new(Vec::new()))
    }
}

impl Message {
    fn tag(&mut self, field: u32, wire: u8) -> &mut PbEncoder<Vec<u8>> {
        let Ok(()) = self.0.encode_tag(Tag::from_parts(field, wire));
        &mut self.0
    }

    /// A uint32, a uint64 or an enum.
    pub fn uint(&mut self, field: u32, value: impl Into<Option<u64>>) {
        if let Some(value) = value.into() {
            let Ok(()) = self.tag(field, VARINT).encode_varint64(value);
        }
    }

    /// An int32.
    pub fn int(&mut self, field: u32, value: impl Into<Option<i32>>) {
        if let Some(value) = value.into() {
            let Ok(()) = self.tag(field, VARINT).encode_int32(value);
        }
    }

    /// A sint32.
    pub fn sint(&mut self, field: u32, value: impl Into<Option<i32>>) {
        if let Some(value) = value.into() {
            let Ok(()) = self.tag(field, VARINT).encode_sint32(value);
        }
    }

    /// Repeated sint64, packed. Of none, nothing is written.
    pub fn sints(&mut self, field: u32, values: &[i64]) {
        if values.is_empty() {
            return;
        }
        let mut packed = PbEncoder::new(Vec::new());
        for value in values {
            let Ok(()) = packed.encode_sint64(*value);
        }
        let packed = packed.into_writer();
        let Ok(()) = self.tag(field, LENGTH).encode_bytes(&packed);
    }

    /// A fixed64.
    pub fn fixed(&mut self, field: u32, value: impl Into<Option<u64>>) {
        if let Some(value) = value.into() {
            let Ok(()) = self.tag(field, EIGHT_BYTES).encode_fixed64(value);
        }
    }

    /// A double.
    pub fn double(&mut self, field: u32, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into() {
            let Ok(()) = self.tag(field, EIGHT_BYTES).encode_double(value);
        }
    }

    /// A string.
    pub fn string<'a>(&mut self, field: u32, value: impl Into<Option<&'a str>>) {
        if let Some(value) = value.into() {
            let Ok(()) = self.tag(field, LENGTH).encode_string(value);
        }
    }

    /// A message within this one.
    pub fn message(&mut self, field: u32, value: impl Into<Option<Self>>) {
        if let Some(value) = value.into() {
            let Ok(()) = self.tag(field, LENGTH).encode_bytes(value.0.as_writer());
        }
    }

    /// The bytes of the whole message.
    pub fn bytes(self) -> Vec<u8> {
        self.0.into_writer()
    }

    /// The bytes, after their number: how several messages follow each other in a file.
    pub fn delimited(self) -> Vec<u8> {
        let mut whole = PbEncoder::new(Vec::new());
        let Ok(()) = whole.encode_bytes(self.0.as_writer());
        whole.into_writer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of protobuf.dev's "Encoding", and one of each other kind by hand.
    #[test]
    fn fields_have_the_bytes_of_the_standard() {
        let mut inner = Message::default();
        inner.uint(1, 150);
        let mut message = Message::default();
        message.message(3, inner);
        assert_eq!(message.bytes(), [0x1a, 3, 8, 0x96, 1]);
        let mut message = Message::default();
        message.string(2, "testing");
        assert_eq!(message.bytes(), b"\x12\x07testing");
        let mut message = Message::default();
        message.sint(1, -1);
        message.sint(2, 1);
        message.sints(13, &[0, -2, 100]);
        message.sints(14, &[]);
        assert_eq!(message.bytes(), [8, 1, 16, 2, 0x6a, 4, 0, 3, 0xc8, 1]);
        let mut message = Message::default();
        message.int(1, -1);
        let minus_one = [0xff; 9];
        assert_eq!(message.bytes(), [&[8][..], &minus_one, &[1]].concat());
        let mut message = Message::default();
        message.fixed(47, 1);
        message.double(1, 1.0);
        let fixed = [0xf9, 2, 1, 0, 0, 0, 0, 0, 0, 0];
        let double = [9, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
        assert_eq!(message.bytes(), [&fixed[..], &double].concat());
    }

    #[test]
    fn what_is_not_there_is_not_written_and_zero_is() {
        let mut message = Message::default();
        message.uint(1, None);
        message.string(2, None);
        message.message(3, None);
        assert!(message.bytes().is_empty());
        let mut message = Message::default();
        message.uint(1, 0);
        message.string(2, "");
        message.message(3, Message::default());
        assert_eq!(message.delimited(), [6, 8, 0, 18, 0, 26, 0]);
    }
}
