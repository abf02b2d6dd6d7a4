// SPDX-License-Identifier: GPL-2.0-only
//! A kernel's build configuration: what the lab needs to know of it.

/// A kernel `.config` file.
pub struct Config(String);

impl Config {
    /// Takes the text of a configuration file.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Is `option` (`CONFIG_…`) built into the kernel image, rather than a module or off?
    pub fn built_in(&self, option: &str) -> bool {
        self.0
            .lines()
            .any(|line| line.strip_prefix(option) == Some("=y"))
    }

    /// Can this kernel load a sched_ext scheduler?
    pub fn sched_ext(&self) -> bool {
        self.built_in("CONFIG_SCHED_CLASS_EXT")
    }

    /// The preemption model that it starts with, in the words of the kernel's `preempt=` argument,
    /// or "rt".
    pub fn preemption(&self) -> Option<&'static str> {
        // A kernel with PREEMPT_RT also sets one of the others: rt comes first.
        [
            ("CONFIG_PREEMPT_RT", "rt"),
            ("CONFIG_PREEMPT_LAZY", "lazy"),
            ("CONFIG_PREEMPT", "full"),
            ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
            ("CONFIG_PREEMPT_NONE", "none"),
        ]
        .into_iter()
        .find_map(|(option, name)| self.built_in(option).then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_counts_as_built_in() {
        let config =
            Config::new("CONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\nCONFIG_AB=y\n".to_owned());
        assert!(config.built_in("CONFIG_A"));
        assert!(!config.built_in("CONFIG_B"));
        assert!(!config.built_in("CONFIG_C"));
        assert!(!config.sched_ext());
    }

    #[test]
    fn preemption_models_are_distinguished() {
        let model = |text: &str| Config::new(text.to_owned()).preemption();
        assert_eq!(
            model("CONFIG_PREEMPT_LAZY=y\nCONFIG_PREEMPT_RT=y\n"),
            Some("rt")
        );
        assert_eq!(
            model("CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_LAZY=y\n"),
            Some("lazy")
        );
        assert_eq!(model("CONFIG_PREEMPT_BUILD=y\n"), None);
    }
}
