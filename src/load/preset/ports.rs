// SPDX-License-Identifier: GPL-2.0-only
//! TCP ports for a load that listens on some: two loads at once must not use the same ones.

use std::net::{Ipv4Addr, TcpListener};
use std::process;

/// Below the ports that the kernel gives to outgoing connections (ip_local_port_range, 32768 by
/// default), and above those that services use.
const FIRST: u16 = 10_000;
const LAST: u16 = 32_000;

/// The first of `count` free ports in a row; none when there is no such row.
///
/// The start of the search depends on the process, so that two processes that search at the same
/// moment rarely find the same ports. The ports are free when this returns, but not reserved.
pub fn free(count: usize) -> Option<u16> {
    let count = u16::try_from(count).ok().filter(|count| *count > 0)?;
    let rows = (LAST - FIRST) / count;
    let begin = process::id() % u32::from(rows.max(1));
    let begin = u16::try_from(begin).ok()?;
    (begin..rows)
        .chain(0..begin)
        .map(|row| FIRST + row * count)
        .find(|first| are_free(*first, count))
}

fn are_free(first: u16, count: u16) -> bool {
    (first..first + count).all(|port| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_in_use_are_skipped() {
        let first = free(4).unwrap();
        assert!((FIRST..=LAST - 4).contains(&first), "{first}");
        let _held = TcpListener::bind((Ipv4Addr::UNSPECIFIED, first + 2)).unwrap();
        let other = free(4).unwrap();
        assert!(
            !(other..other + 4).contains(&(first + 2)),
            "{first} {other}"
        );
    }

    #[test]
    fn more_than_there_are_is_none() {
        assert_eq!(free(0), None);
        assert_eq!(free(usize::from(LAST)), None);
        assert_eq!(free(usize::MAX), None);
    }
}
