// SPDX-License-Identifier: GPL-2.0-only
//! What the scheduler calls: the kernel's functions, as native/sim.h names them.
//!
//! Each is called while [`Sim::ask`] waits for the scheduler's answer, on the same thread.

use super::dsq::Dsq;
use super::{ASKING, Direct, EPOCH_NS, flags};
use crate::cpu::Comes;
use crate::mask::Mask;
use crate::queue::NEVER;
use crate::sim::Sim;
use crate::sys;
use crate::task::Id;
use std::ffi::c_void;

/// The timers that wake up sleepers have this function, see native/bpf/bpf_helpers.h.
const SLEEPER: usize = 1;

/// All of them.
pub fn table(shared: &mut sys::sim_shared) -> sys::sim_kernel {
    sys::sim_kernel {
        shared,
        timers: Some(timers),
        create: Some(create),
        insert: Some(insert),
        to_local: Some(to_local),
        peek: Some(peek),
        queued: Some(queued),
        walk: Some(walk),
        walk_on: Some(walk_on),
        move_: Some(move_to),
        hand_back: Some(hand_back),
        kick: Some(kick),
        is_running: Some(is_running),
        idle_mask: Some(idle_mask),
        pick_idle: Some(pick_idle),
        select_idle: Some(select_idle),
        create_mask: Some(create_mask),
        set_bit: Some(set_bit),
        test_bit: Some(test_bit),
        intersects: Some(intersects),
        any_of_both: Some(any_of_both),
        start_timer: Some(start_timer),
        array: Some(array),
        find: Some(find),
        store: Some(store),
        forget: Some(forget),
        ends: Some(ends),
    }
}

/// The simulation that waits for an answer.
fn sim() -> &'static mut Sim<'static> {
    // SAFETY: Sim::ask() has put it there from its own exclusive reference, which it does not use
    // until the scheduler has answered; the scheduler calls on that thread.
    unsafe { &mut *ASKING.get() }
}

fn id_of(p: *const sys::task_struct) -> Id {
    // SAFETY: the scheduler gives only tasks that it was given.
    (unsafe { (*p).pid } - 1) as Id
}

fn mask_at<'a>(mask: *const sys::cpumask) -> &'a Mask {
    // SAFETY: every cpumask that the scheduler knows is a Mask of this simulation.
    unsafe { &*mask.cast::<Mask>() }
}

unsafe extern "C" fn timers(cpu: i32) -> *mut sys::hrtimer_cpu_base {
    let sim = sim();
    let it = &sim.cpus[cpu as usize];
    let due = it.next_timer();
    let first = it.timers.peek().map(|first| first.0);
    let sleeper = first.filter(|first| first.at < it.tick_at);
    let sleeper = sleeper.and_then(|first| match first.what {
        Comes::Wakeup(id) => Some(id),
        _ => None,
    });
    let whom = sleeper.map_or(std::ptr::null_mut(), |id| sim.ext().tasks.at(id));
    let seen = &mut sim.ext().cpus[cpu as usize];
    let expires = if due == NEVER {
        i64::MAX
    } else {
        (due + EPOCH_NS) as i64
    };
    seen.timers.expires_next = expires;
    seen.first_expires = expires;
    seen.timers.clock_base[0].active.rb_root.rb_leftmost =
        std::ptr::from_mut(&mut seen.first_expires).cast();
    seen.sleeper.task = whom;
    seen.next.function = match sleeper {
        Some(_) => std::ptr::without_provenance_mut(SLEEPER),
        None => std::ptr::null_mut(),
    };
    &mut seen.timers
}

unsafe extern "C" fn create(queue: u64) -> i32 {
    let ext = sim().ext();
    let place = ext.queues.len() as u32;
    ext.queues.push(Dsq::new(queue));
    ext.queue_at.insert(queue, place);
    0
}

unsafe extern "C" fn insert(
    p: *mut sys::task_struct,
    queue: u64,
    slice: u64,
    flags: u64,
    vtime: u64,
    by_vtime: bool,
) {
    sim().ext().direct = Some(Direct {
        id: id_of(p),
        queue,
        slice,
        flags,
        vtime: by_vtime.then_some(vtime),
    });
}

impl Sim<'_> {
    pub(crate) fn ext_queue(&mut self, queue: u64) -> Option<&mut Dsq> {
        let ext = self.ext();
        let place = *ext.queue_at.get(&queue)?;
        ext.queues.get_mut(place as usize)
    }

    /// The task waits in that queue from now on.
    pub(crate) fn ext_put(&mut self, id: Id, queue: u64, vtime: Option<u64>, head: bool) {
        let Some(it) = self.ext_queue(queue) else {
            return;
        };
        let place = it.insert(id, vtime, head);
        let seen: *mut _ = &mut *it.seen;
        self.native(id).scx.dsq = seen;
        self.tasks[id as usize].place = (place.0 as u64, place.1);
        self.ext_refresh(queue);
    }

    /// ... for that CPU alone.
    pub(crate) fn ext_put_local(&mut self, id: Id, cpu: u32, head: bool) {
        let it = &mut self.ext().local[cpu as usize];
        let place = it.insert(id, None, head);
        let seen: *mut _ = &mut *it.seen;
        self.native(id).scx.dsq = seen;
        self.tasks[id as usize].place = (place.0 as u64, place.1);
        self.ext_refresh_local(cpu);
    }

    /// It waits no more where it waits.
    pub(crate) fn ext_take(&mut self, id: Id) {
        let task = &self.tasks[id as usize];
        let (place, cpu) = ((task.place.0 as i64, task.place.1), task.cpu);
        let dsq = std::mem::replace(&mut self.native(id).scx.dsq, std::ptr::null_mut());
        if dsq.is_null() {
            return;
        }
        // SAFETY: the queue lives as long as the simulation.
        let queue = unsafe { (*dsq).id };
        if queue == flags::LOCAL {
            self.ext().local[cpu as usize].remove(place);
            self.ext_refresh_local(cpu);
        } else if let Some(it) = self.ext_queue(queue) {
            it.remove(place);
            self.ext_refresh(queue);
        }
    }

    /// What the scheduler reads of a queue without asking.
    fn ext_refresh(&mut self, queue: u64) {
        let Some(it) = self.ext_queue(queue) else {
            return;
        };
        let (first, count) = (it.first(), it.len());
        let first = first.map_or(std::ptr::null_mut(), |id| self.ext().tasks.at(id));
        if let Some(it) = self.ext_queue(queue) {
            it.seen.first_task = first;
            it.seen.nr = count as u32;
        }
    }

    fn ext_refresh_local(&mut self, cpu: u32) {
        let ext = self.ext();
        let it = &ext.local[cpu as usize];
        let (first, count) = (it.first(), it.len());
        let first = first.map_or(std::ptr::null_mut(), |id| ext.tasks.at(id));
        let seen = &mut ext.cpus[cpu as usize].rq.scx.local_dsq;
        seen.first_task = first;
        seen.nr = count as u32;
    }

    /// Moves a task that waits to the CPU that asks.
    fn ext_bring(&mut self, id: Id, cpu: u32, head: bool) {
        self.ext_take(id);
        let from = self.tasks[id as usize].cpu;
        if from != cpu {
            let waits = self.lock(cpu, from);
            let now = self.now;
            self.cpus[cpu as usize].work(now, waits);
            self.moves(id, from, cpu);
        }
        self.ext_put_local(id, cpu, head);
        self.note(cpu, id, || {
            format!("is taken by CPU {cpu}, was on CPU {from}")
        });
    }
}

/// The first of the queue that may run on the CPU that asks.
unsafe extern "C" fn to_local(queue: u64, with: u64) -> bool {
    let sim = sim();
    let cpu = sim.ext().shared.cpu as u32;
    let mut at = None;
    loop {
        let Some((place, id)) = sim.ext_queue(queue).and_then(|it| it.after(at)) else {
            return false;
        };
        at = Some(place);
        if sim.tasks[id as usize].allowed.contains(cpu) {
            sim.ext_bring(id, cpu, with & flags::HEAD != 0);
            return true;
        }
    }
}

unsafe extern "C" fn peek(queue: u64) -> *mut sys::task_struct {
    let first = sim().ext_queue(queue).map(|it| it.seen.first_task);
    first.unwrap_or(std::ptr::null_mut())
}

unsafe extern "C" fn queued(queue: u64) -> i32 {
    sim().ext_queue(queue).map_or(-2, |it| it.len() as i32)
}

/// Of a walk's state: the queue, where it is, and whether it has begun. See native/kfuncs.h.
const WALK_QUEUE: usize = 0;
const WALK_VTIME: usize = 1;
const WALK_TURN: usize = 2;
const WALK_BEGUN: usize = 4;

unsafe extern "C" fn walk(state: *mut u64, queue: u64) {
    // SAFETY: the scheduler's own, on its stack, and so large.
    let state = unsafe { &mut *state.cast::<[u64; 6]>() };
    *state = [0; 6];
    state[WALK_QUEUE] = queue;
}

unsafe extern "C" fn walk_on(state: *mut u64) -> *mut sys::task_struct {
    // SAFETY: as above.
    let state = unsafe { &mut *state.cast::<[u64; 6]>() };
    let sim = sim();
    let at = (state[WALK_VTIME] as i64, state[WALK_TURN] as i64);
    let at = (state[WALK_BEGUN] != 0).then_some(at);
    let next = sim
        .ext_queue(state[WALK_QUEUE])
        .and_then(|queue| queue.after(at));
    let Some((place, id)) = next else {
        return std::ptr::null_mut();
    };
    state[WALK_VTIME] = place.0 as u64;
    state[WALK_TURN] = place.1 as u64;
    state[WALK_BEGUN] = 1;
    sim.ext().tasks.at(id)
}

unsafe extern "C" fn move_to(
    p: *mut sys::task_struct,
    _from: u64,
    to: u64,
    with: u64,
    vtime: u64,
    by_vtime: bool,
) -> bool {
    let (sim, id) = (sim(), id_of(p));
    if sim.native(id).scx.dsq.is_null() {
        return false;
    }
    let here = sim.ext().shared.cpu as u32;
    let cpu = match to {
        flags::LOCAL => here,
        _ if to & flags::LOCAL_ON == flags::LOCAL_ON => to as u32,
        _ => {
            sim.ext_take(id);
            if by_vtime {
                sim.native(id).scx.dsq_vtime = vtime;
            }
            sim.ext_put(id, to, by_vtime.then_some(vtime), with & flags::HEAD != 0);
            return true;
        }
    };
    if !sim.tasks[id as usize].allowed.contains(cpu) {
        return false;
    }
    sim.ext_bring(id, cpu, with & flags::HEAD != 0);
    if cpu != here {
        sim.ext().kicks.push((cpu, 0));
    }
    true
}

unsafe extern "C" fn hand_back(cpu: i32) {
    sim().ext().hand_backs.push(cpu as u32);
}

unsafe extern "C" fn kick(cpu: i32, with: u64) {
    sim().ext().kicks.push((cpu as u32, with));
}

unsafe extern "C" fn is_running(p: *mut sys::task_struct) -> bool {
    let (sim, id) = (sim(), id_of(p));
    let cpu = sim.tasks[id as usize].cpu;
    sim.cpus[cpu as usize].current == Some(id)
}

unsafe extern "C" fn idle_mask() -> *mut sys::cpumask {
    std::ptr::from_mut(&mut sim().idle).cast()
}

unsafe extern "C" fn pick_idle(allowed: *mut sys::cpumask) -> i32 {
    let sim = sim();
    match sim.idle.first_of_both(mask_at(allowed)) {
        Some(cpu) => {
            sim.idle.remove(cpu);
            cpu as i32
        }
        None => -16,
    }
}

/// As the kernel's scx_select_cpu_dfl(): without SMT, and nodes only as what is near.
unsafe extern "C" fn select_idle(
    p: *mut sys::task_struct,
    previous: i32,
    wake_flags: u64,
    allowed: *mut sys::cpumask,
) -> i32 {
    let (sim, id) = (sim(), id_of(p));
    let here = sim.ext().shared.cpu as u32;
    let previous = previous as u32;
    let task = &sim.tasks[id as usize];
    let own;
    let may_use = match task.allowed_count < sim.setup.layout.cpus {
        true => {
            own = mask_at(allowed).both(&task.allowed);
            &own
        }
        false => mask_at(allowed),
    };
    let layout = &sim.setup.layout;
    let is_free = |cpu: u32| sim.idle.contains(cpu) && may_use.contains(cpu);
    let is_sync = wake_flags & flags::WAKE_SYNC != 0;
    let near = layout.cache_of(here) == layout.cache_of(previous);
    let found = if is_sync && near && is_free(previous) {
        Some(previous)
    } else if is_sync
        && may_use.contains(here)
        && !sim.idle.is_empty()
        && sim
            .ext
            .as_ref()
            .is_some_and(|ext| ext.local[here as usize].len() == 0)
    {
        return here as i32;
    } else if is_free(previous) {
        Some(previous)
    } else {
        let (first, end) = layout.cache(layout.cache_of(previous));
        let of_cache = sim.idle.first_within(may_use, first, end);
        let node = layout.node_of(previous) * layout.per_node;
        let of_node = || {
            sim.idle
                .first_within(may_use, node, (node + layout.per_node).min(layout.cpus))
        };
        of_cache
            .or_else(of_node)
            .or_else(|| sim.idle.first_of_both(may_use))
    };
    match found {
        Some(cpu) => {
            sim.idle.remove(cpu);
            cpu as i32
        }
        None => -16,
    }
}

unsafe extern "C" fn create_mask() -> *mut sys::cpumask {
    let sim = sim();
    let mask = Box::new(Mask::new(sim.setup.layout.cpus));
    let ext = sim.ext();
    ext.masks.push(mask);
    let last = ext.masks.last_mut();
    last.map_or(std::ptr::null_mut(), |mask| {
        std::ptr::from_mut(&mut **mask).cast()
    })
}

unsafe extern "C" fn set_bit(mask: *mut sys::cpumask, cpu: u32) {
    // SAFETY: the scheduler sets bits of its own masks only, and nobody looks at them meanwhile.
    unsafe { &mut *mask.cast::<Mask>() }.insert(cpu);
}

unsafe extern "C" fn test_bit(mask: *mut sys::cpumask, cpu: u32) -> bool {
    mask_at(mask).contains(cpu)
}

unsafe extern "C" fn intersects(a: *mut sys::cpumask, b: *mut sys::cpumask) -> bool {
    mask_at(a).first_of_both(mask_at(b)).is_some()
}

unsafe extern "C" fn any_of_both(a: *mut sys::cpumask, b: *mut sys::cpumask) -> u32 {
    let sim = sim();
    let (a, b) = (mask_at(a), mask_at(b));
    // Distributed as the kernel does it: the next one behind the last answer.
    let cpus = sim.setup.layout.cpus;
    let from = sim.balance.distribute(cpus);
    let found = a.first_within(b, from, cpus).or_else(|| a.first_of_both(b));
    if let Some(cpu) = found {
        sim.balance.distributed(cpu);
    }
    found.unwrap_or(cpus)
}

unsafe extern "C" fn start_timer(timer: *mut sys::bpf_timer, in_ns: u64) {
    let sim = sim();
    let cpu = sim.ext().shared.cpu as u32;
    let at = sim.cpus[cpu as usize].local(sim.now) + in_ns;
    let address = timer.expose_provenance();
    sim.ext().timers.insert(address, at);
    sim.set_timer(cpu, at, Comes::Scheduler(address));
}

unsafe extern "C" fn array(bytes: u64) -> *mut c_void {
    let words = (bytes as usize).div_ceil(8).max(1);
    // What a scheduler keeps of its first values is asked for before any simulation.
    let mut array: Box<[u64]> = vec![0; words].into();
    let first = array.as_mut_ptr().cast();
    if ASKING.get().is_null() {
        Box::leak(array);
    } else {
        sim().ext().arrays.push(array);
    }
    first
}

unsafe extern "C" fn find(map: *mut c_void, key: u64) -> *mut c_void {
    let found = sim().ext().hashes.get_mut(&(map.addr(), key));
    found.map_or(std::ptr::null_mut(), |value| {
        std::ptr::from_mut(&mut **value).cast()
    })
}

unsafe extern "C" fn store(map: *mut c_void, key: u64, value: u32) {
    sim()
        .ext()
        .hashes
        .insert((map.addr(), key), Box::new(value));
}

unsafe extern "C" fn forget(map: *mut c_void, key: u64) {
    sim().ext().hashes.remove(&(map.addr(), key));
}

unsafe extern "C" fn ends(code: i64) {
    sim().ext().ended = Some(code);
}
