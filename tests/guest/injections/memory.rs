// SPDX-License-Identifier: GPL-2.0-only
//! What is done to memory: the victim's own, and that of its whole process.

use super::{Injection, Kind, Shared, bind, favoured, repeat};
use crate::named;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::time::Duration;

pub(super) const PAGE: usize = 4096;
/// Pages that the victim touches: of new or shared memory, of a file.
const PAGES: usize = 256;
const FILE_PAGES: usize = 4;
/// Mappings that are unmapped at once. The kernel does not look whether somebody waits until it has
/// taken all of them out.
const MAPPINGS: usize = 3000;

/// What the victim touches, and how.
pub(super) enum Memory {
    New,
    Shared(*mut u8),
    /// It, and the page where the next touch begins.
    File(File, usize),
    Swapped(*mut u8),
}

impl Memory {
    /// Of this kind of injection; none: the victim touches nothing.
    pub fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Faults => Some(Self::New),
            Kind::Cow => {
                let memory = map(PAGES * PAGE, libc::MAP_POPULATE);
                small_pages(memory, PAGES * PAGE);
                Some(Self::Shared(memory))
            }
            Kind::Disk => {
                let mut file = tempfile::tempfile_in(".").expect("a file in this folder");
                let content = vec![1; 256 * FILE_PAGES * PAGE];
                file.write_all(&content).expect("room on the disk");
                file.sync_all().expect("a disk that works");
                Some(Self::File(file, 0))
            }
            Kind::Swap => {
                let memory = map(PAGES * PAGE, libc::MAP_POPULATE);
                small_pages(memory, PAGES * PAGE);
                Some(Self::Swapped(memory))
            }
            _ => None,
        }
    }

    /// What may take long, and so is no part of the touching.
    pub fn prepare(&self) {
        match self {
            Self::File(file, _) => {
                // SAFETY: takes numbers only. What is not mapped anywhere is forgotten.
                unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
            }
            Self::Swapped(memory) => {
                // SAFETY: our own mapping, whose content stays.
                unsafe { libc::madvise((*memory).cast(), PAGES * PAGE, libc::MADV_PAGEOUT) };
            }
            Self::New | Self::Shared(_) => return,
        }
        // The next activation is the one that touches them.
        std::thread::sleep(Duration::from_millis(1));
    }

    pub fn touch(&mut self) {
        match self {
            Self::New => {
                let memory = map(PAGES * PAGE, 0);
                small_pages(memory, PAGES * PAGE);
                write(memory, PAGES);
                unmap(memory, PAGES * PAGE);
            }
            Self::Shared(memory) => write(*memory, PAGES),
            Self::Swapped(memory) => write(*memory, PAGES),
            Self::File(file, page) => {
                let offset = *page * PAGE;
                *page = (*page + 64 * FILE_PAGES) % (255 * FILE_PAGES);
                read(file, offset);
            }
        }
    }
}

fn small_pages(memory: *mut u8, bytes: usize) {
    // SAFETY: a mapping of that size. Huge pages would make one fault of all.
    unsafe { libc::madvise(memory.cast(), bytes, libc::MADV_NOHUGEPAGE) };
}

fn write(memory: *mut u8, pages: usize) {
    for page in 0..pages {
        // SAFETY: within the mapping.
        unsafe { memory.add(page * PAGE).write_volatile(1) };
    }
}

/// Reads some pages of a file through a mapping, without reading ahead.
fn read(file: &File, offset: usize) {
    let bytes = FILE_PAGES * PAGE;
    // SAFETY: a new mapping at an address of the kernel's choice, of a part that the file has.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ,
            libc::MAP_PRIVATE,
            file.as_raw_fd(),
            offset as libc::off_t,
        );
        assert_ne!(memory, libc::MAP_FAILED, "a file can be mapped");
        libc::madvise(memory, bytes, libc::MADV_RANDOM);
        for page in 0..FILE_PAGES {
            memory.cast::<u8>().add(page * PAGE).read_volatile();
        }
        libc::munmap(memory, bytes);
    }
}

/// Memory that children share.
pub(super) fn map_shared(bytes: usize) -> *mut u8 {
    map_of(bytes, libc::MAP_SHARED)
}

pub(super) fn map(bytes: usize, flags: libc::c_int) -> *mut u8 {
    map_of(bytes, libc::MAP_PRIVATE | flags)
}

fn map_of(bytes: usize, flags: libc::c_int) -> *mut u8 {
    // SAFETY: a new mapping at an address of the kernel's choice.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_ANONYMOUS | flags,
            -1,
            0,
        )
    };
    assert_ne!(memory, libc::MAP_FAILED, "there is memory");
    memory.cast()
}

pub(super) fn unmap(memory: *mut u8, bytes: usize) {
    // SAFETY: our own mapping.
    unsafe { libc::munmap(memory.cast(), bytes) };
}

/// Asks the victim to touch its memory now and then.
pub(super) fn ask(shared: &Shared, times: usize) -> Vec<Injection> {
    for _ in 0..times {
        super::pause(shared);
        shared.ask();
    }
    Vec::new()
}

/// The same, each time beside a child that shares all pages until they are written.
pub(super) fn forks(shared: &Shared, times: usize) -> Vec<Injection> {
    bind(shared.other);
    named(c"inj-fork");
    for _ in 0..times {
        super::pause(shared);
        // SAFETY: the child only waits to be ended.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "there is room for a process");
        if child == 0 {
            loop {
                // SAFETY: takes nothing.
                unsafe { libc::pause() };
            }
        }
        shared.ask();
        // SAFETY: our own child; the status is not of interest.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
    }
    Vec::new()
}

/// Unmaps many mappings in one system call.
pub(super) fn unmappings(shared: &Shared, times: usize) -> Vec<Injection> {
    bind(shared.cpu);
    favoured();
    named(c"inj-kernel");
    let prepare = || {
        let memory = map(MAPPINGS * PAGE, 0);
        for page in (0..MAPPINGS).step_by(2) {
            // SAFETY: within the mapping. Neighbours with other rights are mappings of their own.
            unsafe { libc::mprotect(memory.add(page * PAGE).cast(), PAGE, libc::PROT_READ) };
            // Others want this CPU, and the process's memory map, too.
            if page % 100 == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        memory
    };
    let mut injected = Vec::new();
    for _ in 0..times {
        let memory = prepare();
        injected.extend(repeat(shared, 1, || unmap(memory, MAPPINGS * PAGE)));
    }
    injected
}
