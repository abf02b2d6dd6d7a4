// SPDX-License-Identifier: GPL-2.0-only
//! The losses as a trace for Perfetto's viewer (ui.perfetto.dev): a track for each thread, and
//! below each of its losses a track for each lane; the way through the lanes is a flow.
//!
//! Source: `protos/perfetto/trace/` of Perfetto: `trace_packet.proto`,
//! `track_event/track_descriptor.proto` and `track_event/track_event.proto`. Only the members that
//! are written stand here, with their numbers there.

use super::us;
use artis_explain::document::{Document, Explained};
use artis_explain::lane::Lane;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};

/// The file: packets, one after the other.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// An event of a track, or a track.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// A track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
}

/// The thread that a track is of.
#[derive(Clone, PartialEq, Message)]
pub struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub tid: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub thread_name: Option<String>,
}

/// The begin or the end of a slice.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
}

/// What the viewer shows of a slice that is clicked on.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
}

const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
/// All packets are of one writer.
const SEQUENCE: u32 = 1;
/// Tracks of a loss: one for each lane, and its own.
const TRACKS_OF_LOSS: u64 = 64;

/// The bytes of the file.
pub fn bytes(document: &Document) -> Vec<u8> {
    trace(document).encode_to_vec()
}

/// The trace of all losses.
pub fn trace(document: &Document) -> Trace {
    let mut packets = Vec::new();
    let mut threads = BTreeSet::new();
    for (at, explained) in document.worst.iter().enumerate() {
        let subject = &explained.recording.subject;
        let tid = subject.task.tid;
        if threads.insert(tid) {
            packets.push(track(TrackDescriptor {
                uuid: Some(u64::from(tid)),
                name: None,
                thread: Some(ThreadDescriptor {
                    pid: i32::try_from(subject.process).ok(),
                    tid: i32::try_from(tid).ok(),
                    thread_name: Some(subject.task.name.clone()),
                }),
                parent_uuid: None,
            }));
        }
        loss(at, explained, &mut packets);
    }
    // A viewer takes packets in any order, but ends before begins of the same moment.
    packets.sort_by_key(|packet| packet.timestamp);
    Trace { packet: packets }
}

fn loss(at: usize, explained: &Explained, packets: &mut Vec<TracePacket>) {
    let subject = &explained.recording.subject;
    let number = at as u64 + 1;
    // Beyond all thread numbers.
    let own = (number << 32) * TRACKS_OF_LOSS;
    let title = format!("{number}. {:.3} us", us(subject.lost_ns));
    packets.push(track(TrackDescriptor {
        uuid: Some(own),
        name: Some(title.clone()),
        thread: None,
        parent_uuid: Some(u64::from(subject.task.tid)),
    }));
    let mut lanes: BTreeMap<Lane, u64> = BTreeMap::new();
    for segment in &explained.segments {
        let next = own + 1 + lanes.len() as u64;
        lanes.entry(segment.lane).or_insert(next);
    }
    for (lane, uuid) in &lanes {
        packets.push(track(TrackDescriptor {
            uuid: Some(*uuid),
            name: Some(lane.to_string()),
            thread: None,
            parent_uuid: Some(own),
        }));
    }
    let whole = TrackEvent {
        name: Some(title),
        categories: vec!["loss".to_owned()],
        flow_ids: vec![number],
        ..TrackEvent::default()
    };
    slice(packets, own, subject.due_ns, subject.end_ns, whole);
    for segment in &explained.segments {
        let mut annotations = Vec::new();
        let mut annotate = |name: &str, value: String| {
            annotations.push(DebugAnnotation {
                string_value: Some(value),
                name: Some(name.to_owned()),
            });
        };
        if let Some(code) = &segment.code {
            annotate("code", code.clone());
        }
        if !segment.stack.is_empty() {
            annotate("stack", segment.stack.join(" < "));
        }
        if !segment.chain.is_empty() {
            annotate("chain", segment.chain.join(", "));
        }
        let event = TrackEvent {
            name: Some(
                segment
                    .culprit
                    .clone()
                    .unwrap_or_else(|| "unknown".to_owned()),
            ),
            categories: vec![segment.lane.to_string()],
            flow_ids: vec![number],
            debug_annotations: annotations,
            ..TrackEvent::default()
        };
        let (from, to) = (
            subject.due_ns + segment.begin_ns,
            subject.due_ns + segment.end_ns,
        );
        slice(packets, lanes[&segment.lane], from, to, event);
    }
}

pub(crate) fn track(descriptor: TrackDescriptor) -> TracePacket {
    TracePacket {
        trusted_packet_sequence_id: Some(SEQUENCE),
        track_descriptor: Some(descriptor),
        ..TracePacket::default()
    }
}

pub(crate) fn slice(
    packets: &mut Vec<TracePacket>,
    track: u64,
    from_ns: u64,
    to_ns: u64,
    event: TrackEvent,
) {
    let packet = |ns: u64, kind: i32, event: TrackEvent| TracePacket {
        timestamp: Some(ns),
        trusted_packet_sequence_id: Some(SEQUENCE),
        track_event: Some(TrackEvent {
            r#type: Some(kind),
            track_uuid: Some(track),
            ..event
        }),
        track_descriptor: None,
    };
    packets.push(packet(from_ns, SLICE_BEGIN, event));
    packets.push(packet(to_ns, SLICE_END, TrackEvent::default()));
}
