//! Compares the pairing under random interleavings with a simple model.

use std::collections::HashSet;

use proptest::prelude::*;
use relay_service::pairing::{Came, Id, Pair, Pairing, Refusal};

const KEYS: [&str; 3] = ["/p/a", "/p/b", "/p/c"];
const MAX_WAITING: usize = 2;

#[derive(Clone, Debug)]
enum Event {
    Sender {
        key: usize,
        n: u8,
    },
    Receiver {
        key: usize,
        n: u8,
    },
    /// The client at this place in the list of all who ever waited.
    Leave(prop::sample::Index),
    Finish(usize),
    Close,
}

fn event() -> impl Strategy<Value = Event> {
    let (key, n) = (0..KEYS.len(), 1..4_u8);
    prop_oneof![
        6 => (key.clone(), n.clone()).prop_map(|(key, n)| Event::Sender { key, n }),
        12 => (key.clone(), n).prop_map(|(key, n)| Event::Receiver { key, n }),
        5 => any::<prop::sample::Index>().prop_map(Event::Leave),
        4 => key.prop_map(Event::Finish),
        1 => Just(Event::Close),
    ]
}

/// The test's own number of a client.
type Who = usize;

#[derive(Default, Debug)]
struct Model {
    /// Those who wait, in order: key, n, whether a sender, who.
    waiting: Vec<(usize, u8, bool, Who)>,
    established: HashSet<usize>,
    closing: bool,
}

impl Model {
    fn on(&self, key: usize) -> Vec<(usize, u8, bool, Who)> {
        self.waiting.iter().filter(|one| one.0 == key).copied().collect()
    }

    fn keys(&self) -> usize {
        self.waiting.iter().map(|one| one.0).collect::<HashSet<_>>().len()
    }

    /// The first refusal, in the order of the contract.
    fn refusal(&self, key: usize, n: u8, sends: bool) -> Option<Refusal> {
        let on = self.on(key);
        if self.established.contains(&key) {
            return Some(Refusal::Established);
        }
        if sends && on.iter().any(|one| one.2) {
            return Some(Refusal::AnotherSender);
        }
        if let Some(other) = on.iter().find(|one| one.1 != n) {
            return Some(Refusal::WrongNumber { expected: other.1, got: n });
        }
        if !sends && on.iter().filter(|one| !one.2).count() == usize::from(n) {
            return Some(Refusal::EnoughReceivers);
        }
        if on.is_empty() && self.closing {
            return Some(Refusal::Closing);
        }
        (on.is_empty() && self.keys() == MAX_WAITING).then_some(Refusal::TooManyKeys)
    }

    /// Establishes and returns the key's pair, if it is complete.
    fn complete(&mut self, key: usize) -> Option<Pair<Who, Who>> {
        let on = self.on(key);
        let sender = on.iter().find(|one| one.2)?;
        let receivers: Vec<Who> = on.iter().filter(|one| !one.2).map(|one| one.3).collect();
        if receivers.len() < usize::from(sender.1) {
            return None;
        }
        let sender = sender.3;
        self.waiting.retain(|one| one.0 != key);
        self.established.insert(key);
        Some(Pair { sender, receivers })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_order_of_events_pairs_as_the_model_does(
        events in prop::collection::vec(event(), 0..80),
    ) {
        let mut pairing: Pairing<Who, Who> = Pairing::new(MAX_WAITING);
        let mut model = Model::default();
        let mut ids: Vec<(usize, Id, Who)> = Vec::new();
        for (who, event) in events.into_iter().enumerate() {
            match event {
                Event::Sender { key, n } => {
                    let refusal = model.refusal(key, n, true);
                    let receivers = model.on(key).len();
                    match pairing.sender_comes(KEYS[key], n, who) {
                        Err(got) => prop_assert_eq!(Some(got), refusal),
                        Ok((came, connected)) => {
                            prop_assert_eq!(refusal, None);
                            prop_assert_eq!(connected, (receivers > 0).then_some(receivers));
                            model.waiting.push((key, n, true, who));
                            match came {
                                Came::Completes(pair) => {
                                    prop_assert_eq!(Some(pair), model.complete(key));
                                }
                                Came::Waits(id) => {
                                    prop_assert_eq!(model.complete(key), None);
                                    ids.push((key, id, who));
                                }
                            }
                        }
                    }
                }
                Event::Receiver { key, n } => {
                    let refusal = model.refusal(key, n, false);
                    let sender = model.on(key).iter().find(|one| one.2).map(|one| one.3);
                    let mut told = None;
                    match pairing.receiver_comes(KEYS[key], n, who, |sender| told = Some(*sender)) {
                        Err(got) => prop_assert_eq!(Some(got), refusal),
                        Ok(came) => {
                            prop_assert_eq!(refusal, None);
                            prop_assert_eq!(told, sender);
                            model.waiting.push((key, n, false, who));
                            match came {
                                Came::Completes(pair) => {
                                    prop_assert_eq!(Some(pair), model.complete(key));
                                }
                                Came::Waits(id) => {
                                    prop_assert_eq!(model.complete(key), None);
                                    ids.push((key, id, who));
                                }
                            }
                        }
                    }
                }
                Event::Leave(index) if !ids.is_empty() => {
                    let (key, id, who) = ids[index.index(ids.len())];
                    let before = model.waiting.len();
                    model.waiting.retain(|one| one.3 != who);
                    prop_assert_eq!(pairing.leave(KEYS[key], id).is_some(), model.waiting.len() < before);
                }
                Event::Leave(_) => {}
                Event::Finish(key) => {
                    pairing.finish(KEYS[key]);
                    model.established.remove(&key);
                }
                Event::Close => {
                    pairing.close();
                    model.closing = true;
                }
            }
            prop_assert_eq!(pairing.waiting(), model.keys());
            prop_assert_eq!(pairing.established(), model.established.len());
            for (index, key) in KEYS.iter().enumerate() {
                let held = !model.on(index).is_empty() || model.established.contains(&index);
                prop_assert_eq!(pairing.holds(key), held);
            }
        }
        let waited = model.waiting.len();
        let (senders, receivers) = pairing.forget_waiting();
        prop_assert_eq!(senders.len() + receivers.len(), waited);
        prop_assert_eq!(pairing.waiting(), 0);
    }
}

#[test]
fn a_million_keys_one_after_another_leave_nothing() {
    let mut pairing: Pairing<(), ()> = Pairing::new(1);
    for number in 0..1_000_000 {
        let key = format!("/p/{number}");
        pairing.sender_comes(&key, 1, ()).unwrap();
        pairing.receiver_comes(&key, 1, (), |()| ()).unwrap();
        pairing.finish(&key);
    }
    assert_eq!((pairing.waiting(), pairing.established()), (0, 0));
}
