//! The figures as a table in Markdown.

use statrs::statistics::{Data, Median, OrderStatistics};

use super::Measure;
use super::measured::{Row, Run};

/// Quartiles further apart than this part of the median are marked.
const WIDE: f64 = 0.1;

fn quartiles(values: Vec<f64>) -> [f64; 3] {
    let mut values = Data::new(values);
    [values.lower_quartile(), values.median(), values.upper_quartile()]
}

fn shown([low, median, high]: [f64; 3], decimals: usize) -> String {
    let mark = if high - low > WIDE * median { " ¹" } else { "" };
    format!("{median:.decimals$} ({low:.decimals$} - {high:.decimals$}){mark}")
}

fn over(row: &Row, figure: fn(&Run) -> f64, decimals: usize) -> String {
    shown(quartiles(row.runs.iter().map(figure).collect()), decimals)
}

/// The row's requests for a CPU second, times its threads, over the mean of those of `bases`: a ratio for each
/// round, since a machine's speed drifts from round to round. Empty if there is no base.
fn ratio(row: &Row, bases: &[&Row]) -> String {
    let of_round = |(at, run): (usize, &Run)| {
        let ones: f64 =
            bases.iter().filter_map(|base| Some(base.runs.get(at)?.per_cpu_second)).sum();
        f64::from(row.threads) * run.per_cpu_second * bases.len() as f64 / ones
    };
    if bases.is_empty() {
        return String::new();
    }
    shown(quartiles(row.runs.iter().enumerate().map(of_round).collect()), 2)
}

/// Prints the table and what its columns mean.
pub(crate) fn print(rows: &[Row], plan: &Measure, work: u64) {
    println!(
        "\n| | connections | threads | requests/s | a CPU second | cores used | over one thread | over one on each \
         core | over one with its share | apart | runs |\n\
         | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for row in rows {
        println!("{}", line(row, rows, plan));
    }
    println!(
        "\n¹ quartiles more than a tenth apart. {} rounds of {} s each, in turn; wrk on cores {:?} with nice {}, \
         servers on {:?}. 100 µs are {work} rounds of arithmetic. \"Cores used\": the server's processor time over the \
         clock's; below its threads, wrk was the limit or had the rest of the core. The next three are ratios of the \
         same round: requests per CPU second, times the threads, over those of one thread on the first core; over the \
         mean of one thread on each core alone; and over one thread on the first core with its share of the \
         connections. A batch process is compared with batch processes. \"Apart\": the busiest serving thread's \
         processor time over the idlest one's.",
        plan.rounds.max(1),
        plan.seconds,
        plan.load_cores,
        plan.load_nice,
        plan.server_cores
    );
}

fn line(row: &Row, rows: &[Row], plan: &Measure) -> String {
    let alike = |it: &&Row| {
        let key = |row: &Row| (row.what, row.connections, row.is_batch);
        it.threads == 1 && key(it) == key(row)
    };
    let (whole, share): (Vec<&Row>, Vec<&Row>) =
        rows.iter().filter(alike).partition(|it| it.own == it.connections);
    let (threads, mode) = (row.threads, row.mode);
    let core = match &row.cores[..] {
        [core] if threads == 1 => format!(" on core {core}"),
        _ => String::new(),
    };
    let batch = if row.is_batch { ", batch process" } else { "" };
    // One thread alone is compared with one thread, and no batch process ran on each core.
    let of_several = |bases: &[&Row]| if threads == 1 { String::new() } else { ratio(row, bases) };
    let each =
        if whole.len() == plan.server_cores.len() { of_several(&whole) } else { String::new() };
    format!(
        "| {} | {} | {threads} `{mode}`{core}{batch} | {} | {} | {} | {} | {each} | {} | {} | {} |",
        row.what,
        row.own,
        over(row, |run| run.per_second, 0),
        over(row, |run| run.per_cpu_second, 0),
        over(row, |run| run.cores, 2),
        ratio(row, whole.get(..1).unwrap_or_default()),
        of_several(&share),
        over(row, |run| run.apart, 2),
        row.runs.len(),
    )
}
