// SPDX-License-Identifier: GPL-2.0-only
//! The rest of cyclictest's options: those that ask for what artis does anyway are taken, the
//! others are answered with what does the same here.
//!
//! Source: `cyclictest --help` and the option tables of rt-tests 0.85 to 2.9.

use crate::cli::exit::UsageError;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};

/// An option of cyclictest.
struct Other {
    id: &'static str,
    letter: Option<char>,
    /// None where the letter is all there is, or where artis has this name for something else.
    long: Option<&'static str>,
    value: Value,
    /// What does the same here; none: artis does it anyway.
    answer: Option<&'static str>,
}

/// What stands behind an option.
#[derive(Clone, Copy, PartialEq)]
enum Value {
    None,
    Optional,
    One,
    /// Is answered unless it is 0, which artis does anyway.
    OneNotZero,
}

const TRACER: &str =
    "choose the tracer in /sys/kernel/tracing/current_tracer before; -b freezes it";

const OTHERS: [Other; 35] = [
    taken('n', "nanosleep"),
    taken('M', "refresh_on_max"),
    taken('u', "unbuffered"),
    Other {
        value: Value::OneNotZero,
        ..answered(
            'c',
            "clock",
            "a clock that can be set would falsify latencies; only CLOCK_MONOTONIC, -c 0, is measured",
        )
    },
    Other {
        value: Value::Optional,
        ..answered(
            'A',
            "aligned",
            "all threads start together, and stay in step as long as their periods are equal (-d 0, the default)",
        )
    },
    Other {
        value: Value::Optional,
        ..only_long(
            "secaligned",
            "all threads start together, at any time; nothing here depends on full seconds",
        )
    },
    Other {
        value: Value::One,
        ..answered(
            'F',
            "fifo",
            "a terminal shows the worst so far meanwhile, and --json FILE writes all of it at the end",
        )
    },
    answered(
        'N',
        "nsecs",
        "times are printed in us with three decimals, which are ns; -i, -d, -b and -h are in us",
    ),
    Other {
        value: Value::One,
        ..answered(
            'o',
            "oscope",
            "--json FILE keeps the largest of each stretch of time, which `artis report` draws",
        )
    },
    Other {
        long: None,
        ..answered(
            'v',
            "each-sample",
            "--json FILE keeps the distribution of all samples; `artis result convert FILE --to csv` lists it",
        )
    },
    only_long(
        "priospread",
        "all threads have one priority, that of -p; start one artis for each priority",
    ),
    answered(
        'R',
        "resolution",
        "`artis check` names the clock source and the resolution of its timers",
    ),
    Other {
        value: Value::One,
        ..only_long(
            "spike",
            "--explain keeps the ten worst and says who made them; --on-threshold US stops at the first above",
        )
    },
    Other {
        value: Value::One,
        ..only_long(
            "spike-nodes",
            "--explain keeps the ten worst and says who made them; --on-threshold US stops at the first above",
        )
    },
    only_long(
        "smi",
        "`sudo artis check` says how many there were since boot; compare before and after",
    ),
    only_long(
        "tracemark",
        "-b freezes the trace at once, so its last lines are the moment",
    ),
    answered(
        'x',
        "posix_timers",
        "--source timerfd waits for a periodic timer of the kernel",
    ),
    only_long(
        "dbg_cyclictest",
        "--verbose says what each warning does to the figures",
    ),
    Other {
        value: Value::One,
        ..only_long(
            "deepest-idle-state",
            "--latency US allows idle states by how long it takes to leave them; artis check lists these times",
        )
    },
    Other {
        value: Value::One,
        ..only_long("delay", "type `sleep N` before it")
    },
    Other {
        value: Value::One,
        ..only_long(
            "mainaffinity",
            "artis's own thread leaves the measured CPUs by itself where it may use others",
        )
    },
    // Of older versions.
    answered(
        'U',
        "numa",
        "-a with -t binds the threads, and each has its memory where it runs",
    ),
    answered('f', "ftrace", TRACER),
    answered('B', "preemptirqs", TRACER),
    answered('C', "context", TRACER),
    answered('E', "event", TRACER),
    answered('I', "irqsoff", TRACER),
    Other {
        value: Value::One,
        ..answered('O', "topt", TRACER)
    },
    answered('P', "preemptoff", TRACER),
    Other {
        value: Value::One,
        ..answered('T', "tracer", TRACER)
    },
    answered('w', "wakeup", TRACER),
    answered('W', "wakeuprt", TRACER),
    answered('X', "traceopt", TRACER),
    Other {
        value: Value::One,
        ..answered(
            'g',
            "of_max",
            "no value overflows in --json FILE; `artis report` draws the worst over time",
        )
    },
    only_long("notrace", TRACER),
];

const fn taken(letter: char, long: &'static str) -> Other {
    Other {
        id: long,
        letter: Some(letter),
        long: Some(long),
        value: Value::None,
        answer: None,
    }
}

const fn answered(letter: char, long: &'static str, answer: &'static str) -> Other {
    Other {
        answer: Some(answer),
        ..taken(letter, long)
    }
}

const fn only_long(long: &'static str, answer: &'static str) -> Other {
    Other {
        letter: None,
        ..answered(' ', long, answer)
    }
}

impl Other {
    /// As people type it.
    fn name(&self) -> String {
        match (self.letter, self.long) {
            (Some(letter), _) => format!("-{letter}"),
            (None, long) => format!("--{}", long.unwrap_or_default()),
        }
    }

    fn arg(&self) -> Arg {
        let arg = Arg::new(self.id).hide(true);
        let arg = match self.value {
            Value::None => arg.action(ArgAction::SetTrue),
            Value::Optional => arg.num_args(0..=1).action(ArgAction::Set),
            Value::One | Value::OneNotZero => arg.action(ArgAction::Set),
        };
        let arg = self.letter.map_or(arg.clone(), |letter| arg.short(letter));
        self.long.map_or(arg.clone(), |long| arg.long(long))
    }

    fn is_answered(&self, matches: &ArgMatches) -> bool {
        let is_given = matches.value_source(self.id) == Some(ValueSource::CommandLine);
        let is_zero = || {
            matches
                .get_one::<String>(self.id)
                .is_some_and(|it| it == "0")
        };
        is_given && !(self.value == Value::OneNotZero && is_zero())
    }
}

/// Those of the command line.
pub(super) struct Others {
    answer: Option<String>,
}

impl Others {
    /// The answer to the first that asks for what artis does in another way.
    pub(super) fn refuse(&self) -> Result<(), UsageError> {
        match &self.answer {
            None => Ok(()),
            Some(answer) => Err(UsageError(answer.clone())),
        }
    }
}

impl clap::Args for Others {
    fn augment_args(command: Command) -> Command {
        command.args(OTHERS.iter().map(Other::arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Others {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut asked = OTHERS.iter().filter(|other| other.is_answered(matches));
        let answer = asked.find_map(|other| {
            let answer = other.answer?;
            Some(format!(
                "cyclictest's {} has no place here: {answer}",
                other.name()
            ))
        });
        Ok(Self { answer })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
