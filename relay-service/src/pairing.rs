//! Decides which requests belong together: a state machine without I/O.
//!
//! A key is free, waiting, or established. It waits while only a sender or only some of the clients have come. Once the
//! sender and all receivers are there, it is established, until [`Pairing::finish`] frees it. Senders and receivers are
//! values of the caller.

use std::collections::{HashMap, HashSet};

/// Identifies somebody who waits; unique for the life of a [`Pairing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(u64);

/// The keys that are not free.
#[derive(Debug)]
pub struct Pairing<S, R> {
    waiting: HashMap<String, Waiting<S, R>>,
    established: HashSet<String>,
    max_waiting: usize,
    closing: bool,
    next: u64,
}

#[derive(Debug)]
struct Waiting<S, R> {
    n: u8,
    sender: Option<(Id, S)>,
    receivers: Vec<(Id, R)>,
}

/// A sender and all of its receivers, in the order in which they came.
#[derive(Debug, PartialEq, Eq)]
pub struct Pair<S, R> {
    /// Sends to all of `receivers`.
    pub sender: S,
    /// As many as the sender asked for.
    pub receivers: Vec<R>,
}

/// Why somebody may not wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The key has a sender and all receivers.
    Established,
    /// A sender waits already.
    AnotherSender,
    /// Those who wait expect another number of receivers.
    WrongNumber {
        /// Their number.
        expected: u8,
        /// The number that was refused.
        got: u8,
    },
    /// All receivers are there.
    EnoughReceivers,
    /// The limit of waiting keys is reached.
    TooManyKeys,
    /// No key may begin to wait any more.
    Closing,
}

impl Refusal {
    /// The message, for a key.
    pub fn message(&self, key: &str) -> String {
        match self {
            Refusal::Established => {
                format!("Connection on '{key}' has been established already.")
            }
            Refusal::AnotherSender => format!("Another sender has been connected on '{key}'."),
            Refusal::WrongNumber { expected, got } => {
                format!("The number of receivers should be {expected} but {got}.")
            }
            Refusal::EnoughReceivers => "The number of receivers has reached limits.".to_owned(),
            Refusal::TooManyKeys => "Too many keys are waiting.".to_owned(),
            Refusal::Closing => "The relay is shutting down.".to_owned(),
        }
    }
}

/// Somebody who waited.
#[derive(Debug, PartialEq, Eq)]
pub enum Left<S, R> {
    /// A sender.
    Sender(S),
    /// A receiver.
    Receiver(R),
}

/// What happens when somebody comes.
#[derive(Debug)]
pub enum Came<S, R> {
    /// They wait. The ID is for [`Pairing::leave`].
    Waits(Id),
    /// They were the last to come.
    Completes(Pair<S, R>),
}

impl<S, R> Pairing<S, R> {
    /// A pairing where at most `max_waiting` keys wait at once.
    pub fn new(max_waiting: usize) -> Self {
        Pairing {
            waiting: HashMap::new(),
            established: HashSet::new(),
            max_waiting,
            closing: false,
            next: 0,
        }
    }

    /// Adds a sender for `n` receivers. Also returns how many of them were there before; `None` if the key was free.
    /// Fails with the first refusal that applies; then nothing changes, and the sender is dropped.
    pub fn sender_comes(
        &mut self,
        key: &str,
        n: u8,
        sender: S,
    ) -> Result<(Came<S, R>, Option<usize>), Refusal> {
        if matches!(self.waiting.get(key), Some(Waiting { sender: Some(_), .. })) {
            return Err(Refusal::AnotherSender);
        }
        let connected = self.check(key, n)?.map(|waiting| waiting.receivers.len());
        let id = self.new_id();
        self.entry(key, n).sender = Some((id, sender));
        Ok((self.came(key, id), connected))
    }

    /// Adds one of `n` receivers, and calls `tell` with the sender if one waits. Fails as [`Pairing::sender_comes`]
    /// does.
    pub fn receiver_comes(
        &mut self,
        key: &str,
        n: u8,
        receiver: R,
        tell: impl FnOnce(&S),
    ) -> Result<Came<S, R>, Refusal> {
        if self.check(key, n)?.is_some_and(|it| it.receivers.len() >= usize::from(n)) {
            return Err(Refusal::EnoughReceivers);
        }
        let id = self.new_id();
        let waiting = self.entry(key, n);
        waiting.receivers.push((id, receiver));
        if let Some((_, sender)) = &waiting.sender {
            tell(sender);
        }
        Ok(self.came(key, id))
    }

    /// Removes somebody who waits, and returns their value. `None` if they are part of a pair or gone.
    pub fn leave(&mut self, key: &str, id: Id) -> Option<Left<S, R>> {
        let waiting = self.waiting.get_mut(key)?;
        let sender = waiting.sender.take_if(|(sender, _)| *sender == id);
        let place = waiting.receivers.iter().position(|(receiver, _)| *receiver == id);
        let receiver = place.map(|place| waiting.receivers.remove(place));
        if waiting.len() == 0 {
            self.waiting.remove(key);
        }
        let sender = sender.map(|(_, sender)| Left::Sender(sender));
        sender.or(receiver.map(|(_, receiver)| Left::Receiver(receiver)))
    }

    /// Frees the key of an established pair that has ended. Returns whether there was one.
    pub fn finish(&mut self, key: &str) -> bool {
        self.established.remove(key)
    }

    /// Refuses free keys from now on; pairs of keys that wait can still be completed.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Removes all who wait, and returns their values.
    pub fn forget_waiting(&mut self) -> (Vec<S>, Vec<R>) {
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for (_, waiting) in self.waiting.drain() {
            senders.extend(waiting.sender.map(|(_, sender)| sender));
            receivers.extend(waiting.receivers.into_iter().map(|(_, receiver)| receiver));
        }
        (senders, receivers)
    }

    /// Whether somebody waits on the key, or a pair has it.
    pub fn holds(&self, key: &str) -> bool {
        self.waiting.contains_key(key) || self.established.contains(key)
    }

    /// The keys on which somebody waits, in no order.
    pub fn waiting_keys(&self) -> impl Iterator<Item = &str> {
        self.waiting.keys().map(String::as_str)
    }

    /// The number of keys that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The number of established pairs.
    pub fn established(&self) -> usize {
        self.established.len()
    }

    /// Checks what holds for senders and receivers alike. Returns those who wait on the key.
    fn check(&self, key: &str, n: u8) -> Result<Option<&Waiting<S, R>>, Refusal> {
        match self.waiting.get(key) {
            _ if self.established.contains(key) => Err(Refusal::Established),
            Some(Waiting { n: expected, .. }) if *expected != n => {
                Err(Refusal::WrongNumber { expected: *expected, got: n })
            }
            None if self.closing => Err(Refusal::Closing),
            None if self.waiting.len() >= self.max_waiting => Err(Refusal::TooManyKeys),
            waiting => Ok(waiting),
        }
    }

    fn new_id(&mut self) -> Id {
        self.next += 1;
        Id(self.next)
    }

    fn entry(&mut self, key: &str, n: u8) -> &mut Waiting<S, R> {
        self.waiting.entry(key.to_owned()).or_insert_with(|| Waiting {
            n,
            sender: None,
            receivers: Vec::new(),
        })
    }

    fn came(&mut self, key: &str, id: Id) -> Came<S, R> {
        self.complete(key).map_or(Came::Waits(id), Came::Completes)
    }

    /// Establishes the pair if all are there.
    fn complete(&mut self, key: &str) -> Option<Pair<S, R>> {
        let waiting = self.waiting.get(key)?;
        if waiting.sender.is_none() || waiting.receivers.len() < usize::from(waiting.n) {
            return None;
        }
        let (key, Waiting { sender, receivers, .. }) = self.waiting.remove_entry(key)?;
        let (_, sender) = sender?;
        self.established.insert(key);
        Some(Pair {
            sender,
            receivers: receivers.into_iter().map(|(_, receiver)| receiver).collect(),
        })
    }
}

impl<S, R> Waiting<S, R> {
    fn len(&self) -> usize {
        usize::from(self.sender.is_some()) + self.receivers.len()
    }
}
