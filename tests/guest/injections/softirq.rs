// SPDX-License-Identifier: GPL-2.0-only
//! A long softirq: packets over loopback.

use super::{Injection, Shared, bind, favoured, fifo, now_ns, pause};
use crate::named;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::sync_channel;

/// Sockets that one packet goes to, and instructions of each one's filter.
const SOCKETS: usize = 300;
const FILTER: usize = 4000;
/// Between two looks at a socket, and for all of it.
const CLOSE_NS: u64 = 100_000;
const LONGEST_NS: u64 = 20_000_000;

/// One packet that goes to many sockets, each with a long filter: one long softirq. Some sockets
/// have none and are looked at from another CPU: the softirq worked from the first arrival to the
/// last.
pub(super) fn softirq(shared: &Shared, times: usize) -> Vec<Injection> {
    let group = Ipv4Addr::new(239, 77, 77, 77);
    let first = receiver(0, group);
    let port = first.local_addr().expect("an address").port();
    let mut sockets = vec![first];
    sockets.extend((1..SOCKETS).map(|_| receiver(port, group)));
    // The kernel goes through them in the order of their age, and serves the first one last.
    let (probes, filtered): (Vec<_>, Vec<_>) = sockets
        .into_iter()
        .enumerate()
        .partition(|(at, _)| [0, 1, SOCKETS - 2, SOCKETS - 1].contains(at));
    filtered.iter().for_each(|(_, socket)| filter(socket));
    let probes: Vec<UdpSocket> = probes.into_iter().map(|(_, socket)| socket).collect();
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let local = libc::in_addr {
        s_addr: u32::from(Ipv4Addr::LOCALHOST).to_be(),
    };
    option(&sender, libc::IPPROTO_IP, libc::IP_MULTICAST_IF, &local);
    let looks = AtomicBool::new(false);
    let (begin, begins) = sync_channel::<()>(0);
    std::thread::scope(|scope| {
        let looks = &looks;
        let looking = scope.spawn(move || {
            bind(shared.other);
            fifo(1);
            let mut injected = Vec::new();
            while begins.recv().is_ok() {
                looks.store(true, SeqCst);
                injected.extend(look(&probes));
                looks.store(false, SeqCst);
            }
            injected
        });
        bind(shared.cpu);
        favoured();
        named(c"inj-softirq");
        for _ in 0..times {
            pause(shared);
            if begin.send(()).is_err() {
                break;
            }
            while !looks.load(SeqCst) {
                std::thread::yield_now();
            }
            sender.send_to(b"x", (group, port)).expect("a packet");
        }
        drop(begin);
        looking.join().expect("the looking thread ends")
    })
}

/// Looks at the sockets until the packet came to all of them; none when it was not looked closely
/// enough to say when.
fn look(probes: &[UdpSocket]) -> Option<Injection> {
    let give_up_ns = now_ns() + LONGEST_NS;
    let mut arrived = [false; 4];
    let mut begin_ns = None;
    let mut last_ns = now_ns();
    let mut closely = true;
    while last_ns < give_up_ns {
        let before = arrived;
        for (arrived, probe) in arrived.iter_mut().zip(probes) {
            *arrived |= probe.recv(&mut [0; 8]).is_ok();
        }
        let now = now_ns();
        if arrived != before {
            closely &= now - last_ns < CLOSE_NS;
            begin_ns.get_or_insert(now);
        }
        if arrived.iter().all(|arrived| *arrived) {
            let injection = Injection {
                begin_ns: begin_ns?,
                end_ns: now,
                waited_ns: 0,
            };
            return closely.then_some(injection);
        }
        last_ns = now;
    }
    None
}

fn receiver(port: u16, group: Ipv4Addr) -> UdpSocket {
    // SAFETY: takes numbers only; the socket is owned at once.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        assert!(fd >= 0, "a socket");
        <UdpSocket as std::os::fd::FromRawFd>::from_raw_fd(fd)
    };
    option(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, &1_i32);
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from(group).to_be(),
        },
        sin_zero: [0; 8],
    };
    // SAFETY: the address is alive and of that size.
    let bound = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_in>() as u32,
        )
    };
    assert_eq!(bound, 0, "an address");
    socket
        .join_multicast_v4(&group, &Ipv4Addr::LOCALHOST)
        .expect("a group of loopback");
    socket.set_nonblocking(true).expect("no waiting");
    socket
}

/// Adds, over and over, and then drops the packet.
fn filter(socket: &UdpSocket) {
    let add = libc::sock_filter {
        code: 0x04,
        jt: 0,
        jf: 0,
        k: 1,
    };
    let mut filter = vec![add; FILTER];
    filter.push(libc::sock_filter {
        code: 0x06,
        jt: 0,
        jf: 0,
        k: 0,
    });
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program);
}

fn option<T>(socket: &UdpSocket, level: libc::c_int, name: libc::c_int, value: &T) {
    // SAFETY: the value is alive and of that size.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as u32,
        )
    };
    assert_eq!(set, 0, "option {name} of a socket");
}
