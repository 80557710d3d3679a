//! Checks whether the shadow gets the same kind of answers as clients. If not, its pairs may match but prove nothing:
//! behind a login, for example, a shadow without cookies gets 401 from both sides.

use serde::{Deserialize, Serialize};

use crate::gates::Test;
use crate::interval::{CLASSES, Interval};
use crate::{Reading, Verdict};

/// The fewest answers of clients, and of the shadow, for a comparison.
const LEAST: f64 = 50.0;
/// The most answers of the shadow that are remembered, so that a corrected shadow soon passes.
const REMEMBERED: f64 = 500.0;

/// The old side's answers to the shadow, and the answers to clients. Counts the clients of both sides, since the shadow
/// repeats requests of both: if the split is by key, the clients of one side have only some of the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answers {
    shadow: Classes,
    clients: Classes,
}

impl Answers {
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.shadow.add(interval.shadow_statuses);
        // The new side's failures are left out, since the shadow's answers here come from the old side.
        for (arm, failures) in [(interval.old, interval.old.failures), (interval.new, 0.0)] {
            let [whole, elsewhere, refused] = arm.statuses;
            self.clients.add([whole, elsewhere, refused, failures]);
        }
        if self.shadow.all() > REMEMBERED {
            for classes in [&mut self.shadow, &mut self.clients] {
                classes.0 = classes.0.map(|of_class| of_class / 2.0);
            }
        }
    }

    pub(crate) fn reading(&self, test: &Test) -> Reading {
        let Answers { shadow, clients } = self;
        if clients.all().min(shadow.all()) < LEAST {
            let detail = "too few answers to tell whether the shadow asks as clients do".to_owned();
            return Reading { verdict: Verdict::Pass, detail, ..Reading::without(&test.name, "") };
        }
        let (class, share) = clients.most();
        let rarer = share - shadow.like(class);
        let said = format!("clients get {}, the shadow {}", clients.said(), shadow.said());
        let then = "it does not ask as they do, so its matches prove too little: name the request headers that it \
                    needs in shadow.send_headers of the route file";
        let (verdict, detail) = match rarer > test.excess {
            true => (Verdict::Inconclusive, format!("{said}; {then}")),
            false => (Verdict::Pass, said),
        };
        let (value, limit) = (Some(rarer), Some(test.excess));
        Reading { verdict, value, limit, detail, ..Reading::without(&test.name, "") }
    }
}

/// The number of answers by class of status: those of [`CLASSES`], and 5xx.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Classes([f64; CLASSES.len() + 1]);

impl Classes {
    fn add(&mut self, answers: [f64; CLASSES.len() + 1]) {
        self.0.iter_mut().zip(answers).for_each(|(sum, more)| *sum += more);
    }

    fn all(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The most frequent class, and its share.
    fn most(&self) -> (usize, f64) {
        let class = (0..self.0.len()).max_by(|a, b| self.0[*a].total_cmp(&self.0[*b]));
        let class = class.unwrap_or_default();
        (class, self.0[class] / self.all())
    }

    /// The share of answers that prove at least as much as those of `class`. For 3xx this includes 2xx, since a whole
    /// answer proves more than a 304.
    fn like(&self, class: usize) -> f64 {
        let whole = if CLASSES.get(class) == Some(&"3xx") { self.0[0] } else { 0.0 };
        (self.0[class] + whole) / self.all()
    }

    fn said(&self) -> String {
        let (class, share) = self.most();
        format!("{:.0} % {}", 100.0 * share, CLASSES.get(class).unwrap_or(&"5xx"))
    }
}

#[cfg(test)]
mod tests;
