// SPDX-License-Identifier: GPL-2.0-only
//! Whole numbers within a range.

use std::ops::RangeInclusive;

/// The largest process number of any kernel (`PID_MAX_LIMIT` of include/linux/threads.h), less one.
const PID_MAX: i32 = (1 << 22) - 1;

/// A parser of whole numbers in this range.
pub fn whole<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: TryFrom<u64> + Into<i128> + Copy + Send + Sync + 'static,
{
    move |text| within(text.parse().ok(), &range).ok_or_else(|| allowed(&range))
}

/// A process or thread number.
pub fn process(text: &str) -> Result<i32, String> {
    let range = 1..=PID_MAX;
    within(text.parse().ok(), &range)
        .ok_or_else(|| format!("{}; `ps -eL` lists them in the column LWP", allowed(&range)))
}

/// The number of an interrupt.
pub fn interrupt(text: &str) -> Result<u32, String> {
    let range = 0..=u32::MAX;
    within(text.parse().ok(), &range)
        .ok_or_else(|| format!("{}; `artis irq` lists the interrupts", allowed(&range)))
}

/// A nice value.
pub fn nice(text: &str) -> Result<i8, String> {
    let range = -20..=19_i8;
    text.parse()
        .ok()
        .filter(|nice| range.contains(nice))
        .ok_or_else(|| allowed(&range))
}

/// The number as a `T`, when there is one and it is in the range.
pub(super) fn within<T>(number: Option<u64>, range: &RangeInclusive<T>) -> Option<T>
where
    T: TryFrom<u64> + Into<i128> + Copy,
{
    let number = T::try_from(number?).ok()?;
    let (first, last): (i128, i128) = ((*range.start()).into(), (*range.end()).into());
    (first..=last).contains(&number.into()).then_some(number)
}

fn allowed<T: Into<i128> + Copy>(range: &RangeInclusive<T>) -> String {
    let (first, last): (i128, i128) = ((*range.start()).into(), (*range.end()).into());
    format!("write a whole number from {first} to {last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_range_belong_to_it() {
        let priority = whole(1..=99_u8);
        assert_eq!(priority("1"), Ok(1));
        assert_eq!(priority("99"), Ok(99));
        assert_eq!(whole(0..=u64::MAX)("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn a_refusal_names_the_range() {
        let priority = whole(1..=99_u8);
        for text in [
            "",
            "0",
            "100",
            "-1",
            "1.5",
            "1e3",
            "abc",
            "0x1",
            " 1",
            "99999999999999999999",
        ] {
            let error = priority(text).unwrap_err();
            assert_eq!(error, "write a whole number from 1 to 99", "{text}");
        }
        assert!(process("0").unwrap_err().contains("from 1 to 4194303; `ps"));
        assert_eq!((nice("-20"), nice("19")), (Ok(-20), Ok(19)));
        for text in ["-21", "20", "", "1.5", "abc", "99999999999999999999"] {
            let error = nice(text).unwrap_err();
            assert_eq!(error, "write a whole number from -20 to 19", "{text}");
        }
        assert!(interrupt("-1").unwrap_err().contains("`artis irq`"));
    }
}
