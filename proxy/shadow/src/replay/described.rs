//! Sessions as the sides describe them, and what is played of them.

use serde::{Deserialize, Serialize};

/// Longest pause between two who come.
const MAX_PAUSE_MS: u64 = 100;
/// Most bytes of a session that are played, and most bytes before somebody leaves.
const MAX_BYTES: u64 = 1 << 20;
const MAX_BYTES_BEFORE: u64 = 64 << 10;
/// Most receivers.
const MAX_RECEIVERS: usize = 8;

/// A line of `/sessions`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Described {
    /// Rises from session to session of a side.
    id: u64,
    /// Receivers.
    n: usize,
    #[serde(default)]
    method: Method,
    #[serde(default)]
    framing: Framing,
    #[serde(default)]
    multipart: bool,
    /// Who came, and how many milliseconds after the first one.
    came: Vec<(Who, u64)>,
    bytes: u64,
    end: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Who {
    Sender,
    Receiver,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Method {
    #[default]
    Put,
    Post,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Framing {
    #[default]
    Length,
    Chunked,
}

/// Who leaves early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaver {
    Nobody,
    Sender,
    Receivers,
    /// One who waits, and whom nobody joins.
    Waiting,
}

/// What is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) method: Method,
    pub(super) framing: Framing,
    pub(super) multipart: bool,
    /// Who comes, and after which pause.
    pub(super) came: Vec<(Who, u64)>,
    /// Bytes of the body; of an early end, those before it.
    pub(super) bytes: u64,
    pub(super) leaver: Leaver,
}

impl Described {
    /// The session within bounds: shorter pauses, fewer bytes and receivers.
    pub(super) fn plan(&self) -> Plan {
        let leaver = match self.end.as_str() {
            "sender_left" => Leaver::Sender,
            "receivers_left" => Leaver::Receivers,
            "left" | "expired" => Leaver::Waiting,
            // "cut" is the server's doing: what its clients wanted was a whole.
            _ => Leaver::Nobody,
        };
        let (mut before, mut receivers) = (0, 0);
        let mut came = Vec::new();
        for &(who, after) in &self.came {
            receivers += usize::from(who == Who::Receiver);
            if who == Who::Sender || receivers <= MAX_RECEIVERS {
                came.push((who, after.saturating_sub(before).min(MAX_PAUSE_MS)));
            }
            before = after;
        }
        let most = if leaver == Leaver::Nobody { MAX_BYTES } else { MAX_BYTES_BEFORE };
        Plan {
            method: self.method,
            framing: self.framing,
            // What a form's first part is takes its end; what of it came before is a matter of buffers.
            multipart: self.multipart && leaver == Leaver::Nobody,
            came,
            bytes: self.bytes.min(most),
            leaver,
        }
    }
}

/// Which sessions of a side have been seen.
#[derive(Debug, Default)]
pub(super) struct Seen(u64);

impl Seen {
    /// Those of a list that have not been seen.
    pub(super) fn take(&mut self, text: &str) -> Vec<Described> {
        let all = text.lines().filter_map(|line| serde_json::from_str::<Described>(line).ok());
        let is_possible = |session: &Described| {
            let senders = session.came.iter().filter(|(who, _)| *who == Who::Sender).count();
            let is_pair = senders == 1 && session.came.len() > 1;
            senders <= 1
                && (is_pair || session.came.len() == 1 && session.plan().leaver == Leaver::Waiting)
        };
        let last = self.0;
        let new: Vec<Described> =
            all.filter(|session| session.id > last && is_possible(session)).collect();
        self.0 = new.iter().map(|session| session.id).fold(last, u64::max);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: &str = r#"{"id":7,"n":2,"method":"POST","framing":"chunked","multipart":true,
        "came":[["receiver",0],["sender",9000],["receiver",9030]],"bytes":10737418240,"end":"whole"}"#;

    fn plan(text: &str) -> Plan {
        serde_json::from_str::<Described>(text).unwrap().plan()
    }

    #[test]
    fn ten_gigabytes_and_long_waits_are_played_within_bounds() {
        let expected = Plan {
            method: Method::Post,
            framing: Framing::Chunked,
            multipart: true,
            came: vec![(Who::Receiver, 0), (Who::Sender, 100), (Who::Receiver, 30)],
            bytes: MAX_BYTES,
            leaver: Leaver::Nobody,
        };
        assert_eq!(plan(PAIR), expected);
        let left = plan(&PAIR.replace("whole", "sender_left"));
        assert_eq!((left.leaver, left.bytes, left.multipart), (Leaver::Sender, 65536, false));
        let receivers = vec!["[\"receiver\",0]"; 250].join(",");
        let many = plan(&PAIR.replace("[\"receiver\",0]", &receivers));
        assert_eq!(many.came.len(), MAX_RECEIVERS + 1);
    }

    #[test]
    fn each_session_is_taken_once_and_nonsense_never() {
        let line = |id: u64| PAIR.replace('\n', "").replace(":7,", &format!(":{id},"));
        let mut seen = Seen::default();
        assert_eq!(seen.take(&line(7)).len(), 1);
        let text = format!("{}\n{}\nnonsense\n{{}}\n", line(7), line(8));
        assert_eq!(seen.take(&text).len(), 1);
        assert!(seen.take(&text).is_empty());
        for wrong in [
            line(9).replace("\"sender\"", "\"receiver\""),
            line(9).replace("\"receiver\"", "\"sender\""),
            line(9).replace("9000", "-1"),
            r#"{"id":9,"n":1,"came":[],"bytes":0,"end":"left"}"#.to_owned(),
            r#"{"id":9,"n":1,"came":[["receiver",0]],"bytes":0,"end":"whole"}"#.to_owned(),
        ] {
            assert!(seen.take(&wrong).is_empty(), "{wrong}");
        }
        let left = r#"{"id":9,"n":1,"came":[["receiver",0]],"bytes":0,"end":"left"}"#;
        assert_eq!(seen.take(left).len(), 1);
    }
}
