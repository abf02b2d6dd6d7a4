// SPDX-License-Identifier: GPL-2.0-only
//! Answers who asks for metrics on the loopback, with the latest that there are.
//!
//! One request a connection, and no longer than [`PATIENCE`]: it is for a collector on the same
//! machine. Any user can connect, so one who says nothing holds up nobody else. Nothing that is
//! asked is looked up, opened or run.

use super::{Family, native, open, text};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a client is waited for in all.
const PATIENCE: Duration = Duration::from_secs(2);
/// What a request may have before its empty line.
const REQUEST_BYTES_MAX: usize = 16 * 1024;
/// So many clients are served at once; more wait for their turn.
const CLIENTS_MAX: usize = 64;
const TURN_LOOK: Duration = Duration::from_millis(10);
const PATH: &str = "/metrics";

#[derive(Debug, thiserror::Error)]
#[error("could not listen on {address}; {next}")]
pub struct Error {
    address: SocketAddr,
    next: &'static str,
    source: io::Error,
}

/// Serves until the process ends.
pub struct Server {
    latest: Arc<Mutex<Vec<Family>>>,
    /// Where it listens: of port 0 the one that was found.
    pub address: SocketAddr,
}

impl Server {
    /// Begins to serve.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub fn listen(address: SocketAddr) -> Result<Self, Error> {
        let fail = |source: io::Error| Error {
            address,
            next: match source.kind() {
                io::ErrorKind::AddrInUse => "another program has this port; choose another one",
                io::ErrorKind::PermissionDenied => {
                    "choose a port from 1024 on, or run artis as root"
                }
                _ => "choose another address of the loopback, such as 127.0.0.1:9464",
            },
            source,
        };
        let listener = TcpListener::bind(address).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let latest = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&latest);
        let serve = move || {
            // Each client's thread has one of these.
            let served = Arc::new(());
            for stream in listener.incoming().flatten() {
                while Arc::strong_count(&served) > CLIENTS_MAX {
                    std::thread::sleep(TURN_LOOK);
                }
                let (served, shared) = (Arc::clone(&served), Arc::clone(&shared));
                let client = move || {
                    let latest = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    let families = latest.clone();
                    drop(latest);
                    // A client that has gone needs no answer.
                    let _ = answer(stream, families);
                    drop(served);
                };
                // Without memory for a thread the client has no answer.
                let _ = std::thread::Builder::new().spawn(client);
            }
        };
        std::thread::Builder::new()
            .name("artis-metrics".to_owned())
            .spawn(serve)
            .map_err(fail)?;
        Ok(Self { latest, address })
    }

    /// From now on, this is the answer.
    pub fn set(&self, families: Vec<Family>) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = families;
    }
}

fn answer(mut stream: TcpStream, families: Vec<Family>) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = match request(&mut stream) {
        Ok(request) => request,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return respond(&mut stream, "431 Request Header Fields Too Large", "", b"");
        }
        Err(error) => return Err(error),
    };
    let (kind, body) = match reply(&request, families) {
        Ok(reply) => reply,
        Err(status) => return respond(&mut stream, status, "text/plain", b"see /metrics\n"),
    };
    respond(&mut stream, "200 OK", kind, &body)
}

/// What is asked, to its empty line.
fn request(stream: &mut TcpStream) -> io::Result<String> {
    let began = Instant::now();
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    loop {
        let left = PATIENCE.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut part)?;
        bytes.extend_from_slice(&part[..count]);
        let has_end = bytes.windows(4).any(|four| four == b"\r\n\r\n");
        if has_end || count == 0 {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        if bytes.len() > REQUEST_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// The type and the body of an answer, in the format that is asked for; or the status of a refusal.
fn reply(request: &str, families: Vec<Family>) -> Result<(&'static str, Vec<u8>), &'static str> {
    let mut lines = request.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    match (words.next(), words.next()) {
        (Some("GET"), Some(path)) if path == PATH || path.starts_with("/metrics?") => {}
        (Some("GET"), Some(_)) => return Err("404 Not Found"),
        (Some(_), Some(_)) => return Err("405 Method Not Allowed"),
        _ => return Err("400 Bad Request"),
    }
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("accept")
            .then(|| value.to_ascii_lowercase())
    };
    let accepted = lines.find_map(header).unwrap_or_default();
    let refused = |_| "500 Internal Server Error";
    // A collector that takes native histograms asks for the first one first.
    if accepted.contains("application/vnd.google.protobuf") {
        return Ok((native::CONTENT_TYPE, native::messages(&families)));
    }
    if accepted.contains("application/openmetrics-text") {
        let body = open::text(families).map_err(refused)?;
        return Ok((open::CONTENT_TYPE, body.into_bytes()));
    }
    Ok((text::CONTENT_TYPE, text::text(&families).into_bytes()))
}

fn respond(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Samples;

    fn families() -> Vec<Family> {
        vec![Family {
            name: "artis_scheduling".to_owned(),
            help: "On.".to_owned(),
            samples: Samples::Gauge(vec![(Vec::new(), 1.0)]),
        }]
    }

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // What the server refuses to read may reset the connection after its answer.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn each_client_gets_the_format_that_it_asks_for() {
        let server = Server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        server.set(families());
        let get = |accept: &str| {
            let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n");
            ask(server.address, &request)
        };
        let plain = get("*/*");
        assert!(plain.starts_with("HTTP/1.1 200 OK\r\n"), "{plain}");
        assert!(plain.contains("version=0.0.4") && plain.ends_with("artis_scheduling 1\n"));
        let open = get("application/openmetrics-text;version=1.0.0,text/plain;q=0.3");
        assert!(open.contains("openmetrics-text; version=1.0.0"), "{open}");
        assert!(open.ends_with("# EOF\n"), "{open}");
        assert!(get("application/vnd.google.protobuf;q=0.6").contains("encoding=delimited"));
    }

    #[test]
    fn what_is_no_request_for_metrics_is_refused() {
        let server = Server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let huge = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n", "x".repeat(40_000));
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("\r\n\r\n", "400"),
            (huge.as_str(), "431"),
        ] {
            let answer = ask(server.address, request);
            // A connection that is reset may lose the answer to what was not read.
            let is_lost = status == "431" && answer.is_empty();
            assert!(
                is_lost || answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{answer}"
            );
        }
        // It goes on.
        assert!(ask(server.address, "GET /metrics HTTP/1.1\r\n\r\n").contains("200 OK"));
    }

    #[test]
    fn clients_that_say_nothing_hold_up_nobody() {
        let server = Server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let connect = |_| TcpStream::connect(server.address).unwrap();
        let silent: Vec<TcpStream> = (0..CLIENTS_MAX / 2).map(connect).collect();
        let began = Instant::now();
        assert!(ask(server.address, "GET /metrics HTTP/1.1\r\n\r\n").contains("200 OK"));
        // One after the other they would be waited for so long.
        assert!(began.elapsed() < PATIENCE * silent.len() as u32 / 2);
    }

    #[test]
    fn a_port_in_use_is_said() {
        let first = Server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let said = Server::listen(first.address).err().unwrap().to_string();
        assert!(said.contains("another program has this port"), "{said}");
    }
}
