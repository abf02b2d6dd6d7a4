// SPDX-License-Identifier: GPL-2.0-only
//! The socket of the scheduling process: one question a connection, one line each way.

use super::status::Status;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use std::cell::RefCell;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A client that sends nothing for so long is dropped: one line takes no time to send.
const PATIENCE: Duration = Duration::from_secs(1);
/// A question is shorter.
const QUESTION_BYTES_MAX: usize = 64;
/// So many clients may be about to say something.
const CLIENTS_MAX: usize = 32;
/// A killed process answers no more, and on a busy machine it ends late.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// Detaching the scheduler can take a while on a busy machine; the watchdog's time bounds it.
const STOP_PATIENCE: Duration = Duration::from_secs(60);
/// How long a client that knows that the scheduler is off waits for the settings. For one of them
/// the kernel asks a thread of each CPU, which real-time tasks may keep waiting for a second.
const SETTINGS_PATIENCE: Duration = Duration::from_millis(500);

/// The answer to a client that may not stop the scheduler.
const REFUSED: &str = "refused\n";
/// What a client that stops it is told when the kernel's own scheduler has every task.
const OFF: &str = "off\n";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not {what} the socket {path}", path = path.display())]
    Socket {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("only root may stop the scheduler; try it with sudo")]
    Refused,
    #[error(
        "the scheduling process has not answered for {} s: it is stopped, or waits for a CPU; \
         `ps -C artis -o pid,stat,args` shows it",
        .0.as_secs()
    )]
    Silent(Duration),
    #[error("the scheduling process gave an answer that makes no sense")]
    Answer(#[from] serde_json::Error),
}

fn fail(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Socket { what, path, source }
}

/// What a client wants.
#[derive(Debug)]
pub enum Request {
    Status(UnixStream),
    Stop(Stop),
}

/// A client that waits for the end. Closing the connection tells it that all settings are back.
#[derive(Debug)]
pub struct Stop(UnixStream);

impl Stop {
    /// Tells the client that the kernel's own scheduler has every task.
    pub fn is_off(&self) {
        // A client that closed its connection needs no answer.
        let _ = (&self.0).write_all(OFF.as_bytes());
    }
}

/// What came of asking the scheduling process to stop.
#[derive(Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Nobody listens.
    NotOn,
    /// The scheduler is off, and artis still puts settings back.
    Off,
    /// The scheduler is off, and all settings are back.
    Restored,
    /// The process ended before it answered, as when it is killed: nothing is put back.
    Ended,
}

/// The listening end. Nobody is waited for: the scheduler has more to do, and any user may connect.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    clients: RefCell<Vec<Client>>,
}

/// A client whose question is not whole yet.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    said: Vec<u8>,
    since: Instant,
    /// Root, or the user who started the scheduler.
    is_owner: bool,
}

impl Client {
    fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            is_owner: may_stop(&stream),
            stream,
            said: Vec::new(),
            since: Instant::now(),
        })
    }

    /// What it asked, when its line is whole; an error when it will never be.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut part = [0; QUESTION_BYTES_MAX];
        match self.stream.read(&mut part) {
            Ok(count) => self.said.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if let Some(end) = self.said.iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.said[..end]).into_owned();
            return Ok(Some(line));
        }
        let is_late = self.since.elapsed() > PATIENCE || self.said.len() >= QUESTION_BYTES_MAX;
        match is_late {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(None),
        }
    }
}

impl Server {
    /// Listens at `path`. A socket that was there before is replaced.
    ///
    /// # Errors
    /// When the socket cannot be created there.
    pub fn listen(path: &Path) -> Result<Self, Error> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(fail("remove", path)(error));
            }
            _ => {}
        }
        let listener = UnixListener::bind(path).map_err(fail("create", path))?;
        // Anybody may ask for the status. Whether a client may stop is checked per request.
        fs::set_permissions(path, fs::Permissions::from_mode(0o666))
            .map_err(fail("open to all users", path))?;
        listener
            .set_nonblocking(true)
            .map_err(fail("prepare", path))?;
        Ok(Self {
            listener,
            clients: RefCell::default(),
        })
    }

    /// Takes in who waits at the socket. Of too many, those that said nothing for longest go, and
    /// owners stay.
    fn take_in(&self, clients: &mut Vec<Client>) {
        for _ in 0..CLIENTS_MAX {
            let Ok((stream, _)) = self.listener.accept() else {
                break;
            };
            clients.extend(Client::new(stream));
        }
        while clients.len() > CLIENTS_MAX {
            let other = clients.iter().position(|client| !client.is_owner);
            clients.remove(other.unwrap_or(0));
        }
    }

    /// What there is to wait for: new clients, and those whose question is not whole.
    pub fn wait_for<T>(&self, poll: impl FnOnce(&[BorrowedFd<'_>]) -> T) -> T {
        let clients = self.clients.borrow();
        let listener = [self.listener.as_fd()].into_iter();
        let all = listener.chain(clients.iter().map(|client| client.stream.as_fd()));
        poll(&all.collect::<Vec<_>>())
    }

    /// The next request, if one is waiting. Wrong input of a client is no error here.
    pub fn next(&self) -> Option<Request> {
        let mut clients = self.clients.borrow_mut();
        self.take_in(&mut clients);
        // Owners first: nobody else delays the end.
        clients.sort_by_key(|client| !client.is_owner);
        let mut at = 0;
        let (client, line) = loop {
            match clients.get_mut(at)?.line() {
                Ok(Some(line)) => break (clients.remove(at), line),
                Ok(None) => at += 1,
                Err(_) => drop(clients.remove(at)),
            }
        };
        let Client {
            stream, is_owner, ..
        } = client;
        stream.set_nonblocking(false).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        match line.as_str() {
            "status" => Some(Request::Status(stream)),
            "stop" if is_owner => Some(Request::Stop(Stop(stream))),
            "stop" => {
                // A client that closed its connection needs no answer.
                let _ = (&stream).write_all(REFUSED.as_bytes());
                None
            }
            _ => None,
        }
    }
}

/// Root may stop the scheduler, and whoever started it.
fn may_stop(stream: &UnixStream) -> bool {
    let ours = nix::unistd::geteuid().as_raw();
    getsockopt(stream, PeerCredentials).is_ok_and(|peer| peer.uid() == 0 || peer.uid() == ours)
}

/// Answers a status request.
///
/// # Errors
/// When the client closed its connection.
pub fn answer(mut stream: UnixStream, status: &Status) -> io::Result<()> {
    serde_json::to_writer(&mut stream, status)?;
    stream.write_all(b"\n")
}

/// Asks the scheduling process for its status; `None` when nobody listens.
///
/// # Errors
/// When the socket is there and cannot be used, nobody answers, or the answer makes no sense.
pub fn ask_status(path: &Path) -> Result<Option<Status>, Error> {
    ask_status_for(path, ANSWER_PATIENCE)
}

fn ask_status_for(path: &Path, patience: Duration) -> Result<Option<Status>, Error> {
    let Some(mut stream) = connect(path, patience)? else {
        return Ok(None);
    };
    let mut text = String::new();
    let asked = stream
        .write_all(b"status\n")
        .and_then(|()| stream.read_to_string(&mut text));
    match asked {
        // The process was killed and is about to end: nobody answers.
        Ok(0) => return Ok(None),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
            ) =>
        {
            return Ok(None);
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            return Err(Error::Silent(patience));
        }
        result => result.map_err(fail("talk to", path))?,
    };
    Ok(Some(serde_json::from_str(&text)?))
}

/// Asks the scheduling process to stop, waits until the scheduler is off, and a moment more for the
/// settings.
///
/// # Errors
/// When the socket is there and cannot be used, or the process takes longer than a minute.
pub fn ask_stop(path: &Path) -> Result<Stopped, Error> {
    let Some(mut stream) = connect(path, STOP_PATIENCE)? else {
        return Ok(Stopped::NotOn);
    };
    stream
        .write_all(b"stop\n")
        .map_err(fail("write to", path))?;
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    answer.read_line(&mut line).map_err(fail("wait at", path))?;
    match line.as_str() {
        REFUSED => return Err(Error::Refused),
        OFF => {}
        _ => return Ok(Stopped::Ended),
    }
    answer
        .get_ref()
        .set_read_timeout(Some(SETTINGS_PATIENCE))
        .map_err(fail("prepare", path))?;
    match answer.read_line(&mut line) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Stopped::Off),
        _ => Ok(Stopped::Restored),
    }
}

fn connect(path: &Path, patience: Duration) -> Result<Option<UnixStream>, Error> {
    match UnixStream::connect(path) {
        Ok(stream) => {
            stream
                .set_read_timeout(Some(patience))
                .map_err(fail("prepare", path))?;
            Ok(Some(stream))
        }
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(fail("connect to", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn server() -> (tempfile::TempDir, PathBuf, Server) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sched.sock");
        let server = Server::listen(&path).unwrap();
        (folder, path, server)
    }

    fn wait(server: &Server) -> Request {
        loop {
            if let Some(request) = server.next() {
                return request;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn status_is_asked_and_answered() {
        let (_folder, path, server) = server();
        let client = thread::spawn(move || ask_status(&path));
        let Request::Status(stream) = wait(&server) else {
            panic!("not a status request")
        };
        answer(stream, &Status::off()).unwrap();
        assert!(!client.join().unwrap().unwrap().unwrap().enabled);
    }

    #[test]
    fn who_does_not_answer_is_reported() {
        let (_folder, path, _server) = server();
        let error = ask_status_for(&path, Duration::from_millis(10)).unwrap_err();
        assert!(matches!(error, Error::Silent(_)), "{error}");
    }

    /// A client that stops the scheduler, and the server's end of it.
    fn stopping() -> (thread::JoinHandle<Result<Stopped, Error>>, Stop) {
        let (_folder, path, server) = server();
        let client = thread::spawn(move || ask_stop(&path));
        let Request::Stop(stop) = wait(&server) else {
            panic!("not a stop request")
        };
        (client, stop)
    }

    #[test]
    fn stop_returns_when_the_connection_closes() {
        let (client, stop) = stopping();
        assert!(!client.is_finished());
        stop.is_off();
        drop(stop);
        assert_eq!(client.join().unwrap().unwrap(), Stopped::Restored);
    }

    #[test]
    fn who_closes_without_an_answer_has_put_nothing_back() {
        let (client, stop) = stopping();
        drop(stop);
        assert_eq!(client.join().unwrap().unwrap(), Stopped::Ended);
    }

    #[test]
    fn who_stops_does_not_wait_long_for_settings() {
        let (client, stop) = stopping();
        stop.is_off();
        assert_eq!(client.join().unwrap().unwrap(), Stopped::Off);
    }

    #[test]
    fn a_socket_left_behind_is_nobody() {
        let (_folder, path, server) = server();
        drop(server);
        assert!(path.exists());
        assert!(ask_status(&path).unwrap().is_none());
        assert_eq!(ask_stop(&path).unwrap(), Stopped::NotOn);
        Server::listen(&path).unwrap();
    }

    #[test]
    fn nonsense_is_ignored() {
        let (_folder, path, server) = server();
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(b"nonsense\n").unwrap();
        assert!(server.next().is_none());
    }

    /// Clients that say nothing, or half a line, hold up nobody, however many there are.
    #[test]
    fn nobody_is_waited_for() {
        let (_folder, path, server) = server();
        let began = Instant::now();
        let mut silent = Vec::new();
        for number in 0..3 * CLIENTS_MAX {
            let mut client = UnixStream::connect(&path).unwrap();
            if number % 2 == 0 {
                client.write_all(b"sta").unwrap();
            }
            silent.push(client);
            assert!(server.next().is_none());
        }
        assert!(began.elapsed() < PATIENCE * CLIENTS_MAX as u32 / 4);
        assert!(server.clients.borrow().len() <= CLIENTS_MAX);
        let asking = path.clone();
        let client = thread::spawn(move || ask_status(&asking));
        let Request::Status(stream) = wait(&server) else {
            panic!("not a status request")
        };
        answer(stream, &Status::off()).unwrap();
        assert!(client.join().unwrap().unwrap().is_some());
        // Who was half-way may still end its line.
        let last = silent.len() - 2;
        silent[last].write_all(b"tus\n").unwrap();
        assert!(matches!(wait(&server), Request::Status(_)));
        thread::sleep(PATIENCE);
        assert!(server.next().is_none() && server.clients.borrow().is_empty());
    }
}
