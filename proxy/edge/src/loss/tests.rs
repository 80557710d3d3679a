use super::*;

/// A model of nginx and the reader, in steps of a second.
struct Model {
    start: Instant,
    second: u64,
    loss: Loss,
    requests: u64,
    /// The lines that the reader has counted.
    ends: Ends,
    /// Requests that have ended, with the second in which their lines are counted, and the time at which they ended.
    unwritten: VecDeque<(u64, u64, u64)>,
    is_reading: bool,
    set_back_ms: u64,
    read_to_end_at: Option<Instant>,
}

impl Model {
    fn new(requests: u64) -> Self {
        Model {
            start: Instant::now(),
            second: 0,
            loss: Loss::default(),
            requests,
            ends: Ends::default(),
            unwritten: VecDeque::new(),
            is_reading: true,
            set_back_ms: 0,
            read_to_end_at: None,
        }
    }

    fn at(&self) -> Instant {
        self.start + Duration::from_secs(self.second)
    }

    fn ms(&self) -> u64 {
        1000 * (1000 + self.second) - self.set_back_ms
    }

    /// Plays one second with `traffic` requests, of which `lost` leave no line. `open` other requests are in progress
    /// at its end, and lines are `delay` seconds late. Returns the reported losses.
    fn step(&mut self, traffic: u64, lost: u64, open: u64, delay: u64) -> u64 {
        self.second += 1;
        self.requests += traffic;
        self.unwritten.push_back((self.second + delay, self.ms() - 500, traffic - lost));
        if self.is_reading {
            while let Some(&(at, ended, lines)) = self.unwritten.front()
                && at <= self.second
            {
                (0..lines).for_each(|_| self.ends.add(ended));
                self.unwritten.pop_front();
            }
            self.read_to_end_at = Some(self.at());
        }
        // One more, counted and open: the reading itself. The model does not log it.
        let requests = self.requests + open + 1;
        let reading = StubStatus { at: self.at(), at_ms: self.ms(), requests, open: open + 1 };
        self.loss.observe(reading, self.read_to_end_at, |ms| self.ends.until(ms))
    }

    fn steps(&mut self, seconds: u64, traffic: u64, lost: u64, open: u64, delay: u64) -> u64 {
        (0..seconds).map(|_| self.step(traffic, lost, open, delay)).last().unwrap()
    }
}

#[test]
fn nothing_is_lost_while_lines_are_late_or_requests_open() {
    let mut model = Model::new(123_456);
    assert_eq!(model.steps(30, 0, 0, 0, 0), 0);
    assert_eq!(model.steps(100, 1000, 0, 50, 2), 0);
    assert_eq!(model.steps(30, 20_000, 0, 5000, 1), 0);
    assert_eq!(model.steps(30, 5, 0, 0, 0), 0);
    assert_eq!(model.steps(30, 20_000, 0, 0, 9), 0);
}

#[test]
fn every_loss_is_reported_when_traffic_has_paused_for_the_lag() {
    let mut model = Model::new(1000);
    model.steps(30, 100, 0, 0, 0);
    model.step(100, 7, 0, 0);
    assert_eq!(model.steps(9, 0, 0, 0, 0), 0);
    assert_eq!(model.step(0, 0, 0, 0), 7);
    assert_eq!(model.steps(60, 100, 0, 0, 0), 7);
}

#[test]
fn under_steady_traffic_losses_are_reported_one_by_one_but_for_the_first_seconds() {
    let mut model = Model::new(1000);
    let reported = model.steps(1000, 1000, 50, 10, 1);
    assert_eq!(reported, 50 * (1000 - 20));
    assert_eq!(model.steps(100, 1000, 50, 10, 1), reported + 5000);
}

#[test]
fn a_clock_that_is_set_back_makes_no_losses() {
    let mut model = Model::new(1000);
    model.steps(30, 1000, 0, 10, 1);
    model.step(1000, 7, 10, 1);
    assert_eq!(model.steps(30, 1000, 0, 10, 1), 7);
    model.set_back_ms = 5000;
    assert_eq!(model.steps(60, 1000, 0, 10, 1), 7);
    model.step(1000, 5, 10, 1);
    assert_eq!(model.steps(30, 1000, 0, 10, 1), 12);
}

/// Plays a step of 5 % and so many seconds at 100 requests a second, half a minute after the first reading. Lines have
/// times up to 40 ms before their requests end in every third second, else up to 2 ms; readings are late likewise. So
/// much of the new side's lines is dropped. Returns the reported losses as a ratio of the new side's requests.
fn played(seed: u64, seconds: u64, dropped: f64) -> f64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let (start, mut ends, mut loss) = (Instant::now(), Ends::default(), Loss::default());
    let (mut requests, mut waiting) = (5000, Vec::new());
    let (mut of_new, mut before, mut reported) = (0.0, 0, 0);
    for second in 1..=30 + seconds {
        let late_ms = if second % 3 == 0 { 40.0 } else { 2.0 };
        for _ in 0..100 {
            let end = 1000.0 * (second as f64 + random.f64());
            let is_new = random.f64() < 0.05;
            of_new += f64::from(is_new && second > 30);
            let is_dropped = is_new && random.f64() < dropped;
            let stamp = (!is_dropped).then_some((end - late_ms * random.f64()) as u64);
            waiting.push((end, stamp));
        }
        let now = 1000.0 * (second + 1) as f64;
        let counted = now - late_ms * random.f64();
        waiting.retain(|&(end, stamp)| {
            let has_ended = end <= counted;
            requests += u64::from(has_ended);
            stamp.filter(|_| has_ended).into_iter().for_each(|ms| ends.add(ms));
            !has_ended
        });
        let at = start + Duration::from_secs(second);
        let reading = StubStatus { at, at_ms: now as u64, requests, open: 0 };
        // The lines of the last seconds are read before the reading is settled.
        reported = loss.observe(reading, Some(at), |ms| ends.until(ms));
        before = if second == 30 { reported } else { before };
    }
    (reported - before) as f64 / of_new
}

/// In how many plays more than 1 % is reported: of so many without a loss, and of a tenth as many with one.
fn found(plays: u64) -> [usize; 2] {
    let found = |plays, seconds, dropped| {
        (0..plays).filter(|seed| played(*seed, seconds, dropped) > 0.01).count()
    };
    [found(plays, 30, 0.0), found(plays / 10, 300, 0.02)]
}

#[test]
fn two_in_a_hundred_lines_of_the_new_side_show_within_five_minutes_and_none_is_invented() {
    assert_eq!(found(100), [0, 10]);
}

mod nightly {
    #[test]
    fn a_thousand_times() {
        assert_eq!(super::found(1000), [0, 100]);
    }
}

#[test]
fn requests_that_stay_open_hide_no_losses() {
    let mut model = Model::new(0);
    model.steps(20, 100, 0, 3, 0);
    model.step(100, 50, 3, 0);
    assert_eq!(model.steps(20, 0, 0, 3, 0), 50);
}

#[test]
fn lines_that_wait_to_be_read_are_not_lost() {
    let mut model = Model::new(0);
    model.steps(20, 100, 0, 0, 0);
    model.is_reading = false;
    assert_eq!(model.steps(500, 100, 0, 0, 0), 0);
    model.is_reading = true;
    assert_eq!(model.steps(20, 100, 0, 0, 0), 0);
    model.step(100, 5, 0, 0);
    assert_eq!(model.steps(20, 0, 0, 0, 0), 5);
}

#[test]
fn lines_from_before_the_first_reading_are_no_gain() {
    let mut model = Model::new(10_000);
    model.unwritten.push_back((5, model.ms(), 9000));
    assert_eq!(model.steps(20, 100, 0, 0, 0), 0);
    model.step(100, 5, 0, 0);
    assert_eq!(model.steps(20, 0, 0, 0, 0), 5);
}

#[test]
fn a_restart_of_nginx_keeps_what_is_known_and_begins_anew() {
    let mut model = Model::new(1000);
    model.steps(20, 100, 0, 0, 0);
    model.step(100, 7, 0, 0);
    assert_eq!(model.steps(20, 0, 0, 0, 0), 7);
    model.requests = 0;
    assert_eq!(model.steps(30, 100, 0, 0, 0), 7);
    model.step(100, 5, 0, 0);
    assert_eq!(model.steps(20, 0, 0, 0, 0), 12);
}

#[test]
fn lines_without_a_request_are_not_reported_as_lost() {
    let mut model = Model::new(1000);
    model.steps(20, 100, 0, 0, 0);
    let ended = model.ms();
    (0..500).for_each(|_| model.ends.add(ended)); // lines of the workers of a replaced nginx
    assert_eq!(model.steps(50, 100, 0, 0, 0), 0);
    model.step(100, 5, 0, 0);
    assert_eq!(model.steps(20, 0, 0, 0, 0), 5);
}
