//! Plays one scenario.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::client::Client;
use super::scenario::{Action, End, Framing, Head, Request, Scenario};
use crate::report::Outcome;
use crate::wire::Target;

/// Plays the scenario on a new key, up to the first step that goes wrong.
pub(super) fn play(target: &Target, scenario: &Scenario) -> Outcome {
    let mut stage = Stage {
        target,
        key: new_key(&scenario.name),
        clients: BTreeMap::new(),
        methods: BTreeMap::new(),
        served_by: None,
    };
    let mut failures = Vec::new();
    for (number, step) in scenario.steps.iter().enumerate() {
        if let Err(error) = stage.act(&step.who, &step.action) {
            failures.push(format!("step {}, {}: {error:#}", number + 1, step.who));
            break;
        }
    }
    for client in stage.clients.into_values() {
        client.leave();
    }
    Outcome { name: scenario.name.clone(), served_by: stage.served_by, failures }
}

/// A key that no other run has: the standard library's hash keys are random.
fn new_key(name: &str) -> String {
    let random = |salt: u8| RandomState::new().hash_one((name, salt));
    format!("{:016x}{:016x}", random(0), random(1))
}

struct Stage<'a> {
    target: &'a Target,
    key: String,
    clients: BTreeMap<String, Client>,
    methods: BTreeMap<String, String>,
    served_by: Option<String>,
}

impl Stage<'_> {
    fn act(&mut self, who: &str, action: &Action) -> anyhow::Result<()> {
        if let Action::Request(request) = action {
            return self.request(who, request);
        }
        if let Action::Leaves(_) = action {
            self.clients.remove(who).context("there is no such connection")?.leave();
            return Ok(());
        }
        let key = self.key.clone();
        let is_head = self.methods.get(who).is_some_and(|method| method == "HEAD");
        let client = self.clients.get_mut(who).context("there is no such connection")?;
        match action {
            Action::Request(_) | Action::Leaves(_) => Ok(()),
            Action::Sends(text) => client.send(text.full().replace("{key}", &key).as_bytes()),
            Action::Floods(total) => client.flood(*total),
            Action::StallsBefore(limit) => client.check_stall(*limit),
            Action::EndsBody(_) => client.end_body(),
            Action::HalfCloses(_) => client.half_close(),
            Action::GetsNothingFor(ms) => client.check_silence(Duration::from_millis(*ms)),
            Action::Gets(head) => self.check_head(who, is_head, head),
            Action::Reads(text) => client.read(text.full().replace("{key}", &key).as_bytes()),
            Action::ReadsFlood(total) => client.read_flood(*total),
            Action::Ends(expected) => {
                let end = client.end(false)?;
                ensure!(end == *expected, "expected an end that is {expected:?}, got {end:?}");
                Ok(())
            }
            Action::IsCut(_) => {
                ensure!(client.end_of_all()? == End::Cut, "the answer is whole");
                Ok(())
            }
        }
    }

    fn request(&mut self, who: &str, request: &Request) -> anyhow::Result<()> {
        let target = request.target.replace("{key}", &self.key);
        let body = request.body.as_ref().map(|body| body.full()).unwrap_or_default();
        let mut head = format!("{} {target} HTTP/{}\r\n", request.method, request.version);
        head += &format!("Host: {}\r\n", self.target);
        for line in &request.headers {
            head += &format!("{line}\r\n");
        }
        head += &match request.framing {
            None => String::new(),
            Some(Framing::Length) => format!("Content-Length: {}\r\n", body.len()),
            Some(Framing::LengthOf(length)) => format!("Content-Length: {length}\r\n"),
            Some(Framing::Chunked) => "Transfer-Encoding: chunked\r\n".to_owned(),
        };
        let mut client = Client::new(self.target.connect()?, request.framing);
        client.send_raw(format!("{head}\r\n").as_bytes())?;
        client.send(body.as_bytes())?;
        self.clients.insert(who.to_owned(), client);
        self.methods.insert(who.to_owned(), request.method.clone());
        Ok(())
    }

    fn check_head(&mut self, who: &str, is_head: bool, expected: &Head) -> anyhow::Result<()> {
        let client = self.clients.get_mut(who).context("there is no such connection")?;
        let answer = client.head(is_head)?;
        self.served_by = answer.header("x-served-by").or(self.served_by.take());
        let (status, wanted) = (answer.status, expected.status);
        ensure!(status == wanted, "status: expected {wanted}, got {status}");
        for (name, value) in &expected.headers {
            let got = answer.header(name);
            ensure!(got == *value, "{name}: expected {value:?}, got {got:?}");
        }
        Ok(())
    }
}
