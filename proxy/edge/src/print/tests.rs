use std::sync::mpsc::channel;
use std::{fs, io};

use super::*;
use crate::follow::Follower;
use crate::position::offset_files;

const LINE: &str = "1732250000.123\tqrcode\tnew\tnew\t200\t0.003\t10\t10.0.0.1:80\tGET\tan-id\t\t/qrcode\t10.0.0.9\t\
    200\t0.001\t0.002\t0.003\n";

/// A reader of the output that is away for some of the writes.
struct Reader<'a> {
    writes: usize,
    is_away: fn(usize) -> bool,
    text: &'a mut String,
}

impl Write for Reader<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes += 1;
        if (self.is_away)(self.writes) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        *self.text += std::str::from_utf8(bytes).unwrap();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn lines_that_could_not_be_written_are_counted_and_told_with_the_next_ones() {
    const COUNT: usize = 2000; // four parts of 64 kB
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("edge.log");
    fs::write(&log, LINE.repeat(COUNT)).unwrap();
    let progress = Arc::new(Progress::new(&[], offset_files(&log), 1 << 20));
    let printer = Printer::new(Arc::clone(&progress), Lines::new(100.0));
    while Follower::new(log.clone(), Arc::clone(&progress), printer.clone()).poll() {}
    let mut text = String::new();
    // The first part, and the third one after the second's notice and lines.
    let reader = Reader { writes: 0, is_away: |write| write == 1 || write == 4, text: &mut text };
    let (_, stopped) = channel();
    printer.run(reader, &stopped);
    let (notices, requests): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.contains("\"msg\":\"lines left out"));
    let each = (64 << 10) / LINE.len();
    assert_eq!(notices.len(), 2, "{notices:?}");
    for notice in notices {
        assert!(notice.ends_with(&format!(",\"lines\":{each}}}")), "{notice}");
    }
    assert_eq!(requests.len(), COUNT - 2 * each);
    assert_eq!(progress.done().left_out, 2 * each as u64);
}
