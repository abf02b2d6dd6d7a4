// SPDX-License-Identifier: GPL-2.0-only
//! A task's program: steps in loops, and where a task stands in them.

use super::Op;
use serde::Serialize;

/// A program as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Do(Op),
    /// So often; none: for ever.
    Loop {
        times: Option<u64>,
        body: Vec<Step>,
    },
}

/// A program as it is run: loops are jumps. Every loop has a step in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Program {
    code: Vec<Code>,
    depth: usize,
}

/// One place of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    Do(Op),
    /// A loop begins here; none: it has no end.
    Begin {
        times: Option<u64>,
    },
    /// It ends here, and goes on behind its beginning.
    End {
        begin: u32,
    },
}

impl Program {
    /// The program of these steps. Loops that do nothing are left out.
    ///
    /// # Panics
    /// With more than 2^32 steps; [`super::STEPS_MAX`] is far below.
    pub fn new(steps: Vec<Step>) -> Self {
        let mut program = Self::default();
        program.append(steps, 0);
        program
    }

    fn append(&mut self, steps: Vec<Step>, depth: usize) {
        self.depth = self.depth.max(depth);
        for step in steps {
            match step {
                Step::Do(op) => self.code.push(Code::Do(op)),
                Step::Loop { times: Some(0), .. } => {}
                Step::Loop { times, body } => {
                    let begin = self.code.len();
                    self.code.push(Code::Begin { times });
                    self.append(body, depth + 1);
                    if self.code.len() == begin + 1 {
                        self.code.pop();
                        continue;
                    }
                    let begin = u32::try_from(begin).expect("programs are bounded");
                    self.code.push(Code::End { begin });
                }
            }
        }
    }

    /// All places in their order, for who prints it.
    pub fn code(&self) -> &[Code] {
        &self.code
    }

    /// All operations, each once.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        self.code.iter().filter_map(|code| match code {
            Code::Do(op) => Some(op),
            _ => None,
        })
    }

    /// How many loops are in one another.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Whether it has a loop without end.
    pub fn is_endless(&self) -> bool {
        let endless = |code: &Code| matches!(code, Code::Begin { times: None });
        self.code.iter().any(endless)
    }

    /// Where a new task stands.
    pub fn start(&self) -> Cursor {
        Cursor {
            at: 0,
            left: Vec::with_capacity(self.depth),
        }
    }
}

/// Where a task stands in its program: a few words, however long the program is.
#[derive(Clone, Debug, PartialEq)]
pub struct Cursor {
    at: u32,
    /// Of each loop that it is in, the outermost first: how often it begins again.
    left: Vec<u64>,
}

/// Of a loop without end.
const FOREVER: u64 = u64::MAX;

impl Cursor {
    /// The next operation, and stands behind it; none: the program has ended.
    ///
    /// Always with the same `program`. Allocates nothing.
    pub fn advance<'a>(&mut self, program: &'a Program) -> Option<&'a Op> {
        loop {
            let code = program.code.get(self.at as usize)?;
            self.at += 1;
            match code {
                Code::Do(op) => return Some(op),
                Code::Begin { times } => self.left.push(times.map_or(FOREVER, |it| it - 1)),
                Code::End { begin } => match self.left.last_mut() {
                    Some(0) | None => {
                        self.left.pop();
                    }
                    Some(left) => {
                        if *left != FOREVER {
                            *left -= 1;
                        }
                        self.at = begin + 1;
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(ns: u64) -> Step {
        Step::Do(Op::Sleep { ns })
    }

    fn repeat(times: u64, body: Vec<Step>) -> Step {
        let times = Some(times);
        Step::Loop { times, body }
    }

    fn run(program: &Program, most: usize) -> Vec<u64> {
        let mut cursor = program.start();
        let next = std::iter::from_fn(|| cursor.advance(program));
        let ns = next.map(|op| match op {
            Op::Sleep { ns } => *ns,
            other => panic!("{other:?}"),
        });
        ns.take(most).collect()
    }

    #[test]
    fn loops_are_run_as_often_as_they_say() {
        let inner = repeat(2, vec![op(2), op(3)]);
        let program = Program::new(vec![op(1), repeat(2, vec![inner, op(4)]), op(5)]);
        let expected = [1, 2, 3, 2, 3, 4, 2, 3, 2, 3, 4, 5];
        assert_eq!(run(&program, 100), expected);
        assert_eq!((program.depth(), program.is_endless()), (2, false));
    }

    #[test]
    fn a_loop_without_end_goes_on() {
        let body = vec![op(1), repeat(2, vec![op(2)])];
        let program = Program::new(vec![Step::Loop { times: None, body }, op(9)]);
        assert_eq!(run(&program, 7), [1, 2, 2, 1, 2, 2, 1]);
        assert!(program.is_endless());
    }

    #[test]
    fn loops_that_do_nothing_are_no_loops() {
        let empty = Step::Loop {
            times: None,
            body: vec![repeat(0, vec![op(1)]), repeat(3, vec![])],
        };
        let program = Program::new(vec![empty, op(7)]);
        assert_eq!(run(&program, 10), [7]);
        assert!(run(&Program::default(), 10).is_empty());
    }
}
