// SPDX-License-Identifier: GPL-2.0-only
//! Requests for a CPU: how many may come in a stretch of time, and how much work that is.

use std::cell::Cell;

/// Fixed points above this are not looked for: 52 days.
pub const LIMIT_NS: u64 = 1 << 52;

/// Counts the steps of an analysis, so that it ends in bounded time.
#[derive(Debug)]
pub struct Meter {
    left: Cell<u64>,
}

impl Meter {
    /// A meter for so many steps; each is one division.
    pub fn new(steps: u64) -> Self {
        Self {
            left: Cell::new(steps),
        }
    }

    /// Takes so many steps; false when there are too few.
    pub fn take(&self, steps: u64) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(steps));
        steps <= left
    }

    /// How many are left.
    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Runs a part of the work, which may take at most so many of the steps.
    pub fn share<T>(&self, steps: u64, run: impl FnOnce(&Self) -> T) -> T {
        let given = steps.min(self.left());
        let part = Self::new(given);
        let result = run(&part);
        self.take(given - part.left());
        result
    }
}

/// Why a fixed point was not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is none below [`LIMIT_NS`].
    Endless,
    /// The meter is empty.
    Spent,
}

/// The least `x` with `f(x) <= x` from `start` on, which must not be above it.
pub fn least(start: u64, meter: &Meter, mut f: impl FnMut(u64) -> u64) -> Result<u64, Why> {
    let mut x = start.max(1);
    loop {
        let next = f(x);
        if meter.left() == 0 {
            return Err(Why::Spent);
        }
        if next <= x {
            return Ok(x);
        }
        if next > LIMIT_NS {
            return Err(Why::Endless);
        }
        x = next;
    }
}

/// Jobs that come at least a period apart, each up to the jitter late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    pub period_ns: u64,
    pub jitter_ns: u64,
    /// Of a job, with its switches; of all where several tasks are one stream.
    pub cost_ns: u64,
    /// How many tasks it is.
    pub tasks: u64,
}

impl Stream {
    /// The most jobs of one of its tasks in a half-open stretch of this length (K. Tindell and
    /// others, 1994).
    pub fn arrivals(&self, length_ns: u64) -> u64 {
        match length_ns {
            0 => 0,
            _ => (length_ns + self.jitter_ns).div_ceil(self.period_ns),
        }
    }

    /// The most work that those are.
    pub fn work(&self, length_ns: u64) -> u64 {
        self.arrivals(length_ns).saturating_mul(self.cost_ns)
    }

    /// When a stretch of time is that begins with as many jobs as possible: the times from its
    /// beginning at which one more comes. The job before the first of them comes at 0.
    pub fn later_arrivals(&self) -> impl Iterator<Item = u64> + use<> {
        let Self {
            period_ns,
            jitter_ns,
            ..
        } = *self;
        let first = jitter_ns / period_ns + 1;
        (first..).map_while(move |k| {
            let at = k.checked_mul(period_ns)? - jitter_ns;
            (at <= LIMIT_NS).then_some(at)
        })
    }
}

/// Streams together; those that come alike are one.
#[derive(Clone, Debug, Default)]
pub struct Load {
    streams: Vec<Stream>,
}

impl Load {
    /// All of these.
    pub fn new(streams: impl IntoIterator<Item = Stream>) -> Self {
        let mut all: Vec<Stream> = streams.into_iter().collect();
        all.sort_by_key(|one| (one.period_ns, one.jitter_ns));
        let mut load = Self::default();
        for stream in all {
            match load.streams.last_mut() {
                Some(last)
                    if (last.period_ns, last.jitter_ns) == (stream.period_ns, stream.jitter_ns) =>
                {
                    last.cost_ns = last.cost_ns.saturating_add(stream.cost_ns);
                    last.tasks += stream.tasks;
                }
                _ => load.streams.push(stream),
            }
        }
        load
    }

    /// Adds one more.
    pub fn add(&mut self, stream: Stream) {
        let key = |one: &Stream| (one.period_ns, one.jitter_ns);
        match self.streams.binary_search_by_key(&key(&stream), key) {
            Ok(at) => {
                let one = &mut self.streams[at];
                one.cost_ns = one.cost_ns.saturating_add(stream.cost_ns);
                one.tasks += stream.tasks;
            }
            Err(at) => self.streams.insert(at, stream),
        }
    }

    /// The streams.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// The most work that comes in a stretch of this length; any large number once the meter is
    /// empty.
    pub fn work(&self, length_ns: u64, meter: &Meter) -> u64 {
        if !meter.take(self.streams.len() as u64) {
            // Nobody asks any more.
            return u64::MAX;
        }
        let work = self.streams.iter().map(|one| one.work(length_ns));
        work.fold(0, u64::saturating_add)
    }

    /// The most jobs.
    pub fn jobs(&self, length_ns: u64) -> u64 {
        let jobs = self.streams.iter();
        jobs.map(|one| one.arrivals(length_ns) * one.tasks).sum()
    }

    /// The part of a CPU's time.
    pub fn utilisation(&self) -> f64 {
        let parts = self.streams.iter();
        parts
            .map(|one| one.cost_ns as f64 / one.period_ns as f64)
            .sum()
    }
}

/// How a sum of utilisations compares with the whole CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    Below,
    /// Exactly 1.
    Equal,
    Above,
    /// So near that it was not found out.
    Near,
}

/// Compares exactly, without rounding, where the least common multiple of the periods has at most
/// 128 bits.
pub fn whole<'a>(streams: impl Iterator<Item = &'a Stream> + Clone) -> Whole {
    const ONE: u128 = 1 << 64;
    let mut low: u128 = 0;
    let mut high: u128 = 0;
    for one in streams.clone() {
        let part = u128::from(one.cost_ns) << 64;
        let period = u128::from(one.period_ns);
        low = low.saturating_add(part / period);
        high = high.saturating_add(part.div_ceil(period));
    }
    if low > ONE {
        return Whole::Above;
    }
    if high < ONE {
        return Whole::Below;
    }
    exact(streams).unwrap_or(Whole::Near)
}

fn exact<'a>(streams: impl Iterator<Item = &'a Stream> + Clone) -> Option<Whole> {
    let mut multiple: u128 = 1;
    for one in streams.clone() {
        let period = u128::from(one.period_ns);
        multiple = (multiple / greatest_divisor(multiple, period)).checked_mul(period)?;
    }
    let mut sum: u128 = 0;
    for one in streams {
        let part = (multiple / u128::from(one.period_ns)).checked_mul(u128::from(one.cost_ns))?;
        sum = sum.checked_add(part)?;
    }
    Some(match sum.cmp(&multiple) {
        std::cmp::Ordering::Less => Whole::Below,
        std::cmp::Ordering::Equal => Whole::Equal,
        std::cmp::Ordering::Greater => Whole::Above,
    })
}

/// The greatest common divisor (Euclid).
pub fn greatest_divisor(mut one: u128, mut other: u128) -> u128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(cost_ns: u64, period_ns: u64, jitter_ns: u64) -> Stream {
        Stream {
            period_ns,
            jitter_ns,
            cost_ns,
            tasks: 1,
        }
    }

    #[test]
    fn jobs_come_as_the_jitter_allows() {
        let one = stream(2, 10, 15);
        let counted: Vec<u64> = [0, 1, 5, 6, 15, 16].map(|it| one.arrivals(it)).to_vec();
        assert_eq!(counted, [0, 2, 2, 3, 3, 4]);
        assert_eq!(
            one.later_arrivals().take(3).collect::<Vec<_>>(),
            [5, 15, 25]
        );
        assert_eq!(stream(1, 10, 0).later_arrivals().next(), Some(10));
        // An arrival as late as a whole period comes together with the next.
        assert_eq!(stream(1, 10, 10).later_arrivals().next(), Some(10));
    }

    #[test]
    fn alike_streams_are_one() {
        let mut load = Load::new([stream(1, 10, 0), stream(2, 10, 0), stream(1, 5, 0)]);
        load.add(stream(4, 10, 0));
        load.add(stream(4, 7, 0));
        assert_eq!(load.streams().len(), 3);
        assert_eq!(load.work(11, &Meter::new(99)), 3 + 8 + 14);
        assert_eq!(load.jobs(11), 3 + 2 + 6);
    }

    #[test]
    fn utilisation_is_compared_exactly() {
        let of = |parts: &[(u64, u64)]| {
            let all: Vec<Stream> = parts.iter().map(|(c, t)| stream(*c, *t, 0)).collect();
            whole(all.iter())
        };
        assert_eq!(of(&[(1, 3), (2, 3)]), Whole::Equal);
        assert_eq!(of(&[(1, 3), (2, 3), (1, 86_400_000_000_000)]), Whole::Above);
        assert_eq!(
            of(&[(333_333_333_333, 1_000_000_000_000), (2, 3)]),
            Whole::Below
        );
        assert_eq!(of(&[(9, 10)]), Whole::Below);
    }

    #[test]
    fn a_meter_ends_what_would_not_end() {
        let meter = Meter::new(5);
        let found = least(1, &meter, |x| {
            meter.take(1);
            x + 1
        });
        assert_eq!(found, Err(Why::Spent));
        assert_eq!(least(1, &Meter::new(9), |x| x * 2), Err(Why::Endless));
    }
}
