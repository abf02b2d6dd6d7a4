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
use artis_result::protobuf::Message;
use std::collections::{BTreeMap, BTreeSet};

/// The file: packets, one after the other.
pub struct Trace {
    pub packet: Vec<TracePacket>,
}

/// An event of a track, or a track.
#[derive(Default)]
pub struct TracePacket {
    pub timestamp: Option<u64>,
    pub trusted_packet_sequence_id: Option<u32>,
    pub track_event: Option<TrackEvent>,
    pub track_descriptor: Option<TrackDescriptor>,
}

/// A track.
pub struct TrackDescriptor {
    pub uuid: u64,
    pub name: Option<String>,
    pub thread: Option<ThreadDescriptor>,
    pub parent_uuid: Option<u64>,
}

/// The thread that a track is of.
pub struct ThreadDescriptor {
    pub pid: Option<i32>,
    pub tid: Option<i32>,
    pub thread_name: String,
}

/// The begin or the end of a slice.
#[derive(Default)]
pub struct TrackEvent {
    pub debug_annotations: Vec<DebugAnnotation>,
    pub kind: Option<u64>,
    pub track_uuid: Option<u64>,
    pub categories: Vec<String>,
    pub name: Option<String>,
    pub flow_ids: Vec<u64>,
}

/// What the viewer shows of a slice that is clicked on.
pub struct DebugAnnotation {
    pub string_value: String,
    pub name: &'static str,
}

impl Trace {
    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut message = Message::default();
        for packet in &self.packet {
            message.message(1, packet.message());
        }
        message.bytes()
    }
}

impl TracePacket {
    fn message(&self) -> Message {
        let mut message = Message::default();
        message.uint(8, self.timestamp);
        message.uint(10, self.trusted_packet_sequence_id.map(u64::from));
        message.message(11, self.track_event.as_ref().map(TrackEvent::message));
        let descriptor = self.track_descriptor.as_ref();
        message.message(60, descriptor.map(TrackDescriptor::message));
        message
    }
}

impl TrackDescriptor {
    fn message(&self) -> Message {
        let mut message = Message::default();
        message.uint(1, self.uuid);
        message.string(2, self.name.as_deref());
        message.message(4, self.thread.as_ref().map(ThreadDescriptor::message));
        message.uint(5, self.parent_uuid);
        message
    }
}

impl ThreadDescriptor {
    fn message(&self) -> Message {
        let mut message = Message::default();
        message.int(1, self.pid);
        message.int(2, self.tid);
        message.string(5, self.thread_name.as_str());
        message
    }
}

impl TrackEvent {
    fn message(&self) -> Message {
        let mut message = Message::default();
        for annotation in &self.debug_annotations {
            message.message(4, annotation.message());
        }
        message.uint(9, self.kind);
        message.uint(11, self.track_uuid);
        for category in &self.categories {
            message.string(22, category.as_str());
        }
        message.string(23, self.name.as_deref());
        for flow in &self.flow_ids {
            message.fixed(47, *flow);
        }
        message
    }
}

impl DebugAnnotation {
    fn message(&self) -> Message {
        let mut message = Message::default();
        message.string(6, self.string_value.as_str());
        message.string(10, self.name);
        message
    }
}

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
/// All packets are of one writer.
const SEQUENCE: u32 = 1;
/// Tracks of a loss: one for each lane, and its own.
const TRACKS_OF_LOSS: u64 = 64;

/// The bytes of the file.
pub fn bytes(document: &Document) -> Vec<u8> {
    trace(document).bytes()
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
                uuid: u64::from(tid),
                name: None,
                thread: Some(ThreadDescriptor {
                    pid: i32::try_from(subject.process).ok(),
                    tid: i32::try_from(tid).ok(),
                    thread_name: subject.task.name.clone(),
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
        uuid: own,
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
            uuid: *uuid,
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
        let mut annotate = |name: &'static str, value: String| {
            annotations.push(DebugAnnotation {
                string_value: value,
                name,
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
    let packet = |ns: u64, kind: u64, event: TrackEvent| TracePacket {
        timestamp: Some(ns),
        trusted_packet_sequence_id: Some(SEQUENCE),
        track_event: Some(TrackEvent {
            kind: Some(kind),
            track_uuid: Some(track),
            ..event
        }),
        track_descriptor: None,
    };
    packets.push(packet(from_ns, SLICE_BEGIN, event));
    packets.push(packet(to_ns, SLICE_END, TrackEvent::default()));
}
