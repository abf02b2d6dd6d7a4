// SPDX-License-Identifier: GPL-2.0-only
//! Random scenarios as files: the same seed and number give the same bytes.
//!
//! Each has an RT0 task, two to five others, and ends after a second of its own time. None has a
//! file or a fork: the shipped scenarios have.

use artis_load::seed::Seed;
use std::fmt::Write as _;

/// Number `number` of those of `seed`.
pub fn scenario(seed: u64, number: u64) -> String {
    let mut draw = Draw(Seed::new(seed.wrapping_mul(1_000) + number));
    let mut text = format!(
        "name = \"random {number}\"\nduration = \"1s\"\n\n[machine]\ncpus = 2\nrt = \"1\"\n\n\
         [mutex.lock]\nprotocol = \"inheritance\"\n\n[channel.there]\n[channel.back]\n\n"
    );
    let period_us = draw.between(700, 5_000);
    let rt0_us = draw.between(20, period_us / 3);
    let _ = writeln!(
        text,
        "[[task]]\nname = \"real-time\"\nclass = \"rt0\"\ncpu = 1\n\
         forever = [{{ compute = \"{rt0_us}us\" }}, {{ every = \"{period_us}us\" }}]"
    );
    for task in 0..draw.between(2, 5) {
        text += &draw.task(task);
    }
    text
}

struct Draw(Seed);

impl Draw {
    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.draw() % (most - least + 1)
    }

    /// A time in us: as many short ones as long ones.
    fn time(&mut self) -> String {
        let scale = [20, 100, 500, 2_000, 10_000][self.between(0, 4) as usize];
        format!("{}us", self.between(scale, 3 * scale))
    }

    fn task(&mut self, number: u64) -> String {
        let kind = self.between(0, 6);
        if kind == 6 {
            return self.messages(number);
        }
        let compute = self.time();
        let other = self.time();
        let calls = self.between(1, 20);
        let steps = match kind {
            0 => format!("{{ compute = \"{compute}\" }}"),
            1 => format!("{{ compute = \"{compute}\" }}, {{ sleep = \"{other}\" }}"),
            2 => {
                let every = self.between(4, 40);
                format!("{{ compute = \"{compute}\" }}, {{ every = \"{every}ms\" }}")
            }
            3 => format!(
                "{{ lock = \"lock\" }}, {{ compute = \"{compute}\" }}, {{ unlock = \"lock\" }}, \
                 {{ compute = \"{other}\" }}"
            ),
            4 => format!("{{ kernel = \"{compute}\" }}, {{ compute = \"{other}\" }}"),
            _ => format!("{{ compute = \"{compute}\" }}, {{ calls = {calls} }}"),
        };
        let policy = self.policy();
        format!("\n[[task]]\nname = \"task-{number}\"\n{policy}forever = [{steps}]\n")
    }

    /// Two tasks that send one another messages.
    fn messages(&mut self, number: u64) -> String {
        let compute = self.time();
        let bytes = self.between(16, 512);
        let [there, back] = [("send", "receive"), ("receive", "send")].map(|(first, second)| {
            format!(
                "forever = [{{ {first} = \"there\", bytes = {bytes} }}, \
                 {{ compute = \"{compute}\" }}, {{ {second} = \"back\", bytes = {bytes} }}]\n"
            )
        });
        format!(
            "\n[[task]]\nname = \"asks-{number}\"\n{there}\n[[task]]\nname = \"answers-{number}\"\n{back}"
        )
    }

    /// A class, a mask, a nice value, or nothing.
    fn policy(&mut self) -> String {
        match self.between(0, 5) {
            0 => format!("class = \"rt1+\"\nlevel = {}\n", self.between(1, 9)),
            1 => "cpus = \"0\"\n".to_owned(),
            2 => format!("nice = {}\n", self.between(0, 10)),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_a_scenario_and_the_same_each_time() {
        let mut all = String::new();
        for number in 0..200 {
            let text = scenario(1, number);
            let reading = artis_scenario::read(&text, None, "it");
            let reading = reading.unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert!(reading.scenario.tasks.len() >= 3, "{text}");
            assert_eq!(text, scenario(1, number));
            all += &text;
        }
        assert_ne!(scenario(1, 0), scenario(2, 0));
        for word in [
            "sleep", "every", "lock", "kernel", "calls", "send", "rt1+", "nice", "cpus",
        ] {
            assert!(all.contains(word), "{word}");
        }
    }
}
