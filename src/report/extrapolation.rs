// SPDX-License-Identifier: GPL-2.0-only
//! What a law of extremes says of a miss, in words.

use super::units::time;
use artis_decide::extremes::binomial::upper;
use artis_decide::extremes::{Estimate, Extrapolation};
use artis_decide::verdict::miss::CONFIDENCE;

/// What a law of extremes says, on what condition, and what it is made of.
pub fn sentences(found: &Extrapolation, activations: u64) -> String {
    let Estimate { value, low, high } = found.probability;
    let mut words = format!(
        " Extrapolated by a law of extremes: {value:.1e} (95 %: {low:.1e} to {high:.1e}). If every \
         cause was seen, the interval ends at {:.1e}; a cause rarer than 1 in {:.0} may not have \
         been, and what it may add is {:.1e}.",
        found.by_peaks.high,
        1.0 / upper(0, activations, CONFIDENCE),
        found.unseen
    );
    for (at, law) in found.laws.iter().enumerate() {
        let shown = format!(
            "{} largest latencies: threshold {}, scale {}, shape {:.2}",
            law.values,
            time(law.threshold_us),
            time(law.scale_us),
            law.shape
        );
        words += &match (at, law.left_out) {
            (0, _) => format!(" The law is a generalised Pareto one of the {shown}"),
            (_, 0) => format!("; that of the {shown}, gives {:.1e}", law.probability),
            (_, 1) => format!("; without the largest it gives {:.1e}", law.probability),
            (_, left_out) => format!(", without the {left_out} largest {:.1e}", law.probability),
        };
    }
    words + "."
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_decide::extremes::Found;

    #[test]
    fn a_law_is_shown_with_its_condition_and_what_it_is_made_of() {
        let law = |values, left_out, probability| Found {
            values,
            left_out,
            threshold_us: 25.2,
            scale_us: 2.0,
            shape: -0.034,
            probability,
        };
        let by_peaks = Estimate {
            value: 3e-7,
            low: 1e-8,
            high: 2e-6,
        };
        let found = Extrapolation {
            probability: Estimate {
                high: 8e-6,
                ..by_peaks
            },
            by_peaks,
            unseen: 8e-6,
            laws: vec![
                law(100, 0, 3e-7),
                law(100, 1, 2e-7),
                law(100, 5, 1e-7),
                law(2000, 0, 4e-7),
            ],
        };
        assert_eq!(
            sentences(&found, 200_000).trim(),
            "Extrapolated by a law of extremes: 3.0e-7 (95 %: 1.0e-8 to 8.0e-6). If every cause \
             was seen, the interval ends at 2.0e-6; a cause rarer than 1 in 66762 may not have \
             been, and what it may add is 8.0e-6. The law is a generalised Pareto one of the 100 \
             largest latencies: threshold 25.2 us, scale 2 us, shape -0.03; without the largest it \
             gives 2.0e-7, without the 5 largest 1.0e-7; that of the 2000 largest latencies: \
             threshold 25.2 us, scale 2 us, shape -0.03, gives 4.0e-7."
        );
    }
}
