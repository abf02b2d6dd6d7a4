// SPDX-License-Identifier: GPL-2.0-only
//! The accesses of memory that a guest makes between its marks, and who receives them.

use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex};

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub cpu: u32,
    /// The program's address; none where the CPU itself reads its page tables.
    pub linear: Option<u64>,
    pub physical: u64,
    pub bytes: u64,
    pub is_store: bool,
}

/// Receives every access and every mark, in the order of time. The first mark begins the accesses.
pub trait Listener: Send {
    fn hear(&mut self, access: Access);
    fn mark(&mut self);
}

/// Who receives those of a guest, all of its CPUs.
#[derive(Clone)]
pub struct Accesses {
    pub listener: Arc<Mutex<dyn Listener>>,
}

impl Debug for Accesses {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("accesses of memory")
    }
}
