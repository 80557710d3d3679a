use super::*;

/// A model of nginx and the reader, in steps of a second.
struct Model {
    start: Instant,
    second: u64,
    loss: Loss,
    requests: u64,
    /// The lines that the reader has counted.
    lines: u64,
    /// Requests that have ended, with the second in which their lines are counted.
    unwritten: VecDeque<(u64, u64)>,
    is_reading: bool,
    read_to_end_at: Option<Instant>,
}

impl Model {
    fn new(requests: u64) -> Self {
        Model {
            start: Instant::now(),
            second: 0,
            loss: Loss::default(),
            requests,
            lines: 0,
            unwritten: VecDeque::new(),
            is_reading: true,
            read_to_end_at: None,
        }
    }

    fn at(&self) -> Instant {
        self.start + Duration::from_secs(self.second)
    }

    /// Plays one second with `traffic` requests, of which `lost` leave no line. `open` other requests are in progress
    /// at its end, and lines are `delay` seconds late. Returns the reported losses.
    fn step(&mut self, traffic: u64, lost: u64, open: u64, delay: u64) -> u64 {
        self.second += 1;
        self.requests += traffic;
        self.unwritten.push_back((self.second + delay, traffic - lost));
        if self.is_reading {
            while let Some(&(at, lines)) = self.unwritten.front()
                && at <= self.second
            {
                self.lines += lines;
                self.unwritten.pop_front();
            }
            self.read_to_end_at = Some(self.at());
        }
        let lines = Lines { count: self.lines, read_to_end_at: self.read_to_end_at };
        // One more, counted and open: the reading itself. The model does not log it.
        let requests = self.requests + open + 1;
        self.loss.observe(StubStatus { at: self.at(), requests, open: open + 1 }, lines)
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
    model.steps(20, 100, 0, 0, 0);
    model.step(100, 7, 0, 0);
    assert_eq!(model.steps(9, 0, 0, 0, 0), 0);
    assert_eq!(model.step(0, 0, 0, 0), 7);
    assert_eq!(model.steps(60, 100, 0, 0, 0), 7);
}

#[test]
fn under_steady_traffic_all_losses_beyond_the_last_seconds_are_reported() {
    let mut model = Model::new(1000);
    model.steps(20, 1000, 0, 10, 1);
    let reported = model.steps(1000, 1000, 50, 10, 1);
    assert!((50_000 - 12_000..50_000).contains(&reported), "{reported}");
    assert_eq!(model.steps(100, 1000, 50, 10, 1), reported + 5000);
}

#[test]
fn requests_that_stay_open_hide_no_more_losses_than_their_number() {
    let mut model = Model::new(0);
    model.steps(20, 100, 0, 3, 0);
    model.step(100, 50, 3, 0);
    assert_eq!(model.steps(20, 0, 0, 3, 0), 47);
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
    model.unwritten.push_back((5, 9000));
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
    model.lines += 500; // lines of the workers of a replaced nginx
    assert_eq!(model.steps(50, 100, 0, 0, 0), 0);
    model.step(100, 5, 0, 0);
    assert_eq!(model.steps(20, 0, 0, 0, 0), 5);
}
