//! The derived tables of `docs/capacity.md`: what cores, memory and network a load needs.

use std::fmt::Write as _;

use anyhow::{Context, ensure};

use crate::report::Report;
use crate::way::{Idle, Row};

/// How busy a core may be.
const BUSY: f64 = 0.6;
/// Bytes of an answer's head, and of a line of nginx' log.
const HEAD: f64 = 300.0;
const LINE: f64 = 500.0;
/// The part of the requests that a CDN does not answer.
const MISSED: f64 = 0.05;
/// Memory that a pod may take, and the workers of nginx in one. Of the legacy app a process has a core.
const POD: [f64; 2] = [32.0, 256.0];
const WORKERS: f64 = 2.0;
/// Pods that availability needs.
const LEAST: f64 = 2.0;
const WAITING: f64 = 10_000.0;

/// What a request and a connection cost, from the figures of other programs here.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Processor seconds of a request: everything on the old side, qr-service, and nginx before it, which logs all
    /// requests or failures only.
    old: f64,
    new: f64,
    nginx: f64,
    quiet: f64,
    /// Those of nginx alone: ours, over a Unix socket, and the least that proxies.
    alone_us: [f64; 3],
    /// Bytes of a picture by either side.
    picture: f64,
    old_picture: f64,
    /// Bytes of a process of the legacy app, of qr-service, and of nginx before it.
    old_memory: f64,
    memory: [f64; 2],
    /// Bytes of a connection that waits, of qr-service and of nginx.
    waiting: [f64; 2],
    /// When and where the ladder was climbed.
    run: String,
}

impl Costs {
    /// Takes the figures from the ladder, from `make way` with rounds, and from it with idle connections.
    ///
    /// # Errors
    /// If a row is missing, or was not measured.
    pub fn new(ladder: &Report, way: &[Row], idle: &[Idle]) -> anyhow::Result<Self> {
        let row = |name: &str| {
            let row = ladder.rows.iter().find(|row| row.name == name);
            row.with_context(|| format!("the ladder has no row {name}"))
        };
        let cpu = |name| anyhow::Ok(row(name)?.cpu_seconds_per_1000.median / 1000.0);
        let alone = |name: &str| {
            let row = way.iter().find(|row| row.name == name && row.timed.is_some());
            let timed = row.and_then(|row| row.timed.as_ref());
            let timed = timed.with_context(|| format!("make way has no time for {name}"))?;
            anyhow::Ok(timed.processor_us[1])
        };
        let each = |name: &str| {
            let part = idle.iter().find(|it| it.part == name);
            part.map(|it| it.each).with_context(|| format!("no memory of {name}'s connections"))
        };
        let new = cpu("qr-service")?;
        let (both, quiet) = (cpu("nginx+qr-service")?, cpu("quiet-nginx+qr-service")?);
        ensure!(both > new && quiet > new, "nginx and qr-service cost no more than qr-service");
        let memory = |name| anyhow::Ok(row(name)?.pss_bytes.median);
        let of_new = memory("qr-service")?;
        Ok(Costs {
            old: cpu("node")?,
            new,
            nginx: both - new,
            quiet: quiet - new,
            alone_us: [alone("ours")?, alone("ours, over a Unix socket")?, alone("barest")?],
            picture: row("qr-service")?.bytes_per_response,
            old_picture: row("node")?.bytes_per_response,
            old_memory: memory("node")?,
            memory: [of_new, idle_of("nginx", idle)?],
            waiting: [each("qr-service")?, each("nginx")?],
            run: format!("{} rounds, {}, {}", ladder.rounds, ladder.date, ladder.machine),
        })
    }

    fn both(&self) -> f64 {
        self.new + self.nginx
    }

    /// Bits a second that so many answers are.
    fn network(&self, rate: f64) -> f64 {
        rate * (self.picture + HEAD) * 8.0
    }
}

fn idle_of(name: &str, idle: &[Idle]) -> anyhow::Result<f64> {
    let part = idle.iter().find(|it| it.part == name);
    Ok(part.with_context(|| format!("no memory of {name}"))?.few as f64)
}

/// Replaces the tables between the page's marks.
///
/// # Errors
/// If a mark is missing.
pub fn into_page(page: &str, costs: &Costs) -> anyhow::Result<String> {
    let tables =
        [("request", request(costs)), ("machine", machine(costs)), ("fleet", fleet(costs))];
    tables.into_iter().try_fold(page.to_owned(), |page, (name, table)| {
        let begin = format!("<!-- {name}: written by `make capacity` -->\n");
        let end = format!("<!-- /{name} -->");
        let (before, rest) = page.split_once(&begin).with_context(|| format!("no {begin:?}"))?;
        let (_, after) = rest.split_once(&end).with_context(|| format!("no {end:?}"))?;
        Ok(format!("{before}{begin}\n{table}\n{end}{after}"))
    })
}

fn request(costs: &Costs) -> String {
    let us = |seconds: f64| format!("{:.0} µs", 1e6 * seconds);
    let megabytes = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
    let waits =
        |at: usize| format!("{:.1} kB for each connection that waits", costs.waiting[at] / 1e3);
    let [ours, unix, least] = costs.alone_us;
    let idle = "`make ladder`, `make way ARGS='--idle 2000'`";
    format!(
        "| | processor | memory | command |\n| --- | ---: | --- | --- |\n\
         | `legacy-node` | {:.1} ms | {:.0} MB a process, one process a core | `make ladder` |\n\
         | `qr-service` | {} | {}, and {} | {idle} |\n\
         | nginx before it, with both logs; with failures only | {}; {} | {} with its workers, and {} | the same |\n\
         | nginx by itself, links of 53 bytes: ours, over a Unix socket, the least that proxies \
         | {ours:.0}, {unix:.0}, {least:.0} µs | | `make way ARGS='--rounds 7'` |\n\n\
         The ladder: {}. The last row is of another run: nginx had a core to itself. An answer has {:.0} bytes of \
         picture, from `legacy-node` {}, and {HEAD} bytes of headers. A line of nginx' log has half a kilobyte.\n",
        1e3 * costs.old,
        costs.old_memory / 1e6,
        us(costs.new),
        megabytes(costs.memory[0]),
        waits(0),
        us(costs.nginx),
        us(costs.quiet),
        megabytes(costs.memory[1]),
        waits(1),
        costs.run,
        costs.picture,
        crate::report::markdown::number(costs.old_picture),
    )
}

fn machine(costs: &Costs) -> String {
    let all = [1.0, 16.0, 64.0];
    let mut text = String::from("| cores | 1 | 16 | 64 |\n| --- | ---: | ---: | ---: |\n");
    let mut line = |name: &str, of: &dyn Fn(f64) -> String| {
        let [one, some, many] = all.map(of);
        let _ = writeln!(text, "| {name} | {one} | {some} | {many} |");
    };
    let rate = |cores: f64, cost: f64| BUSY * cores / cost;
    let logged = |cores| rate(cores, costs.both());
    line("everything on the old side: requests a second", &|it| short(rate(it, costs.old)));
    line("nginx and `qr-service`", &|it| short(logged(it)));
    let failures = |it| short(rate(it, costs.new + costs.quiet));
    line("the same, if nginx logs failures only", &failures);
    line("with every request logged: cores for nginx, for `qr-service`", &|it| {
        let share = costs.nginx / costs.both();
        format!("{:.1}, {:.1}", it * share, it * (1.0 - share))
    });
    line("network out", &|it| in_units(costs.network(logged(it)), "bit/s"));
    line("nginx' log, a day", &|it| in_units(86_400.0 * LINE * logged(it), "B"));
    line("`qr-service` alone", &|it| short(rate(it, costs.new)));
    let waiting: f64 = costs.memory.iter().chain(&costs.waiting.map(|it| WAITING * it)).sum();
    let _ = writeln!(
        text,
        "| memory for 10,000 waiting connections, nginx and `qr-service` | {} | the same | the same |",
        in_units(waiting, "B")
    );
    text
}

fn fleet(costs: &Costs) -> String {
    let mut text = String::from(
        "| requests a second | 1,000 | 100,000 | 10,000,000 |\n| --- | ---: | ---: | ---: |\n",
    );
    let mut line = |name: &str, of: &dyn Fn(f64) -> String| {
        let [some, many, most] = [1e3, 1e5, 1e7].map(of);
        let _ = writeln!(text, "| {name} | {some} | {many} | {most} |");
    };
    let pods = |rate: f64| {
        let [new, nginx] = [(costs.new, 1.0), (costs.nginx, WORKERS)]
            .map(|(cost, cores)| (rate * cost / BUSY / cores).ceil().max(LEAST));
        (new, nginx, in_gibibytes(new * POD[0] + nginx * POD[1]))
    };
    let pods_of = |count: f64| {
        let mark = if count > LEAST { "" } else { " ¹" };
        format!("{count:.0}{mark}")
    };
    line("`qr-service`: busy cores, pods of one core", &|it| {
        format!("{}, {}", cores(it * costs.new), pods_of(pods(it).0))
    });
    line("nginx: busy cores, pods of two workers", &|it| {
        format!("{}, {}", cores(it * costs.nginx), pods_of(pods(it).1))
    });
    line("memory: `qr-service` at 32 MiB, nginx at 256 MiB a pod", &|it| pods(it).2);
    line("network out", &|it| in_units(costs.network(it), "bit/s"));
    line("behind a CDN that holds 95 % of the pictures", &|it| short(MISSED * it));
    line("then: pods of `qr-service`, of nginx, and their memory", &|it| {
        let (new, nginx, memory) = pods(MISSED * it);
        format!("{}, {}, {memory}", pods_of(new), pods_of(nginx))
    });
    line("everything on the old side: cores, memory", &|it| {
        let cores = (it * costs.old / BUSY).ceil();
        format!("{}, {}", short(cores), in_units(cores * costs.old_memory, "B"))
    });
    text
}

fn in_gibibytes(mebibytes: f64) -> String {
    format!("{:.1} GiB", mebibytes / 1024.0)
}

/// With two digits that are not zero.
fn cores(number: f64) -> String {
    match number {
        it if it < 1.0 => format!("{it:.3}"),
        it if it < 10.0 => format!("{it:.1}"),
        it => format!("{it:.0}"),
    }
}

/// With two digits that are not zero.
fn short(number: f64) -> String {
    if number < 10.0 {
        return format!("{number:.0}");
    }
    let unit = 10_f64.powf(number.log10().floor() - 1.0);
    let rounded = (number / unit).round() * unit;
    if rounded >= 1e6 {
        return format!("{:.1} million", rounded / 1e6);
    }
    if rounded < 100.0 { format!("{rounded:.0}") } else { crate::report::markdown::number(rounded) }
}

fn in_units(number: f64, unit: &str) -> String {
    match number {
        it if it < 1e9 => format!("{:.0} M{unit}", it / 1e6),
        it if it < 1e12 => format!("{:.1} G{unit}", it / 1e9),
        it => format!("{:.1} T{unit}", it / 1e12),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs() -> Costs {
        Costs {
            old: 0.005,
            new: 20e-6,
            nginx: 30e-6,
            quiet: 20e-6,
            alone_us: [27.0, 24.0, 17.0],
            picture: 500.0,
            old_picture: 2000.0,
            old_memory: 150e6,
            memory: [5e6, 20e6],
            waiting: [2000.0, 500.0],
            run: "3 rounds".to_owned(),
        }
    }

    #[test]
    fn a_machine_answers_what_its_cores_may_spend() {
        let text = machine(&costs());
        for line in [
            // 0.6 / 5 ms, and / 50 µs.
            "| everything on the old side: requests a second | 120 | 1,900 | 7,700 |",
            "| nginx and `qr-service` | 12,000 | 190,000 | 770,000 |",
            "| with every request logged: cores for nginx, for `qr-service` | 0.6, 0.4 | 9.6, 6.4 | 38.4, 25.6 |",
            "| network out | 77 Mbit/s | 1.2 Gbit/s | 4.9 Gbit/s |",
            "| `qr-service` alone | 30,000 | 480,000 | 1.9 million |",
            // 25 MB and 10,000 times 2.5 kB.
            "qr-service` | 50 MB | the same | the same |",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn a_fleet_has_two_pods_at_least() {
        let text = fleet(&costs());
        for line in [
            "| `qr-service`: busy cores, pods of one core | 0.020, 2 ¹ | 2.0, 4 | 200, 334 |",
            "| nginx: busy cores, pods of two workers | 0.030, 2 ¹ | 3.0, 3 | 300, 250 |",
            "| then: pods of `qr-service`, of nginx, and their memory | 2 ¹, 2 ¹, 0.6 GiB |",
            "| everything on the old side: cores, memory | 9, 1.4 GB |",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn the_page_has_a_place_for_each_table() {
        let file = stack::settings::repository().join("docs/capacity.md");
        let page = std::fs::read_to_string(file).expect("docs/capacity.md");
        let written = into_page(&page, &costs()).expect("marks");
        assert!(written.contains("| nginx and `qr-service` | 12,000 |"), "{written}");
        assert_eq!(into_page(&written, &costs()).expect("marks"), written);
    }
}
