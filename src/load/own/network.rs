// SPDX-License-Identifier: GPL-2.0-only
//! Network: one process sends over TCP on the loopback device, another receives. The protocol's
//! work is done in the sender's system calls and in softirqs, as with a real device.

use super::Error;
use super::counters::Counters;
use super::process::fork_helper;
use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// Bytes sent at once: two full Ethernet frames.
const MESSAGE: usize = 2896;

pub(super) fn run(counters: &Counters) -> Result<Infallible, Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .map_err(Error::io("listen on the loopback device"))?;
    let address = listener
        .local_addr()
        .map_err(Error::io("ask for the port that was opened"))?;
    fork_helper("the sender", || {
        let _ = TcpStream::connect(address).and_then(send);
        // Without the sender, the receiver ends and reports it.
    })?;
    let (mut stream, _) = listener
        .accept()
        .map_err(Error::io("accept the sender's connection"))?;
    let mut message = [0_u8; MESSAGE];
    loop {
        stream
            .read_exact(&mut message)
            .map_err(Error::io("receive from the sender"))?;
        counters.add_done(1);
    }
}

fn send(mut stream: TcpStream) -> std::io::Result<Infallible> {
    let message = [0x5a_u8; MESSAGE];
    loop {
        stream.write_all(&message)?;
    }
}
