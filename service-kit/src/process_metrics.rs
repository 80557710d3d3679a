//! The standard `process_*` metrics, read from `/proc/self` when scraped.
//!
//! Names: <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>.

use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Reads the figures at each scrape; those that cannot be read are left out.
#[derive(Debug)]
pub struct ProcessCollector {
    /// Boot time, seconds since 1970.
    booted: Option<f64>,
}

/// The figures of one scrape.
struct Process {
    cpu_seconds: f64,
    start_seconds: Option<f64>,
    threads: i64,
    virtual_bytes: i64,
    resident_bytes: i64,
}

impl Default for ProcessCollector {
    fn default() -> Self {
        Self::new()
    }
}

impl ProcessCollector {
    /// A collector for this process.
    pub fn new() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let booted = stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok());
        ProcessCollector { booted }
    }

    /// Fields by their numbers in proc_pid_stat(5); the second, the command, may hold anything, so
    /// counting begins behind it.
    fn read(&self) -> Option<Process> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        Some(Process {
            cpu_seconds: (field(14)? + field(15)?) / ticks,
            start_seconds: self.booted.zip(field(22)).map(|(booted, start)| booted + start / ticks),
            threads: field(20)? as i64,
            virtual_bytes: field(23)? as i64,
            resident_bytes: field(24)? as i64 * rustix::param::page_size() as i64,
        })
    }
}

fn open_files() -> Option<i64> {
    // The listing itself has one open.
    Some(fs::read_dir("/proc/self/fd").ok()?.count() as i64 - 1)
}

fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help, unit): (&str, &str, Option<&Unit>),
    value: i64,
) -> std::fmt::Result {
    let metric = ConstGauge::new(value);
    metric.encode(encoder.encode_descriptor(name, help, unit, metric.metric_type())?)
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        let Some(process) = self.read() else { return Ok(()) };
        let cpu = ConstCounter::new(process.cpu_seconds);
        let help = "User and system CPU time spent";
        cpu.encode(encoder.encode_descriptor(
            "process_cpu",
            help,
            Some(&Unit::Seconds),
            cpu.metric_type(),
        )?)?;
        if let Some(start) = process.start_seconds {
            let start = ConstGauge::new(start);
            let help = "When the process began, since 1970";
            let kind = start.metric_type();
            start.encode(encoder.encode_descriptor(
                "process_start_time",
                help,
                Some(&Unit::Seconds),
                kind,
            )?)?;
        }
        let bytes = Some(&Unit::Bytes);
        gauge(
            &mut encoder,
            ("process_resident_memory", "Resident memory", bytes),
            process.resident_bytes,
        )?;
        gauge(
            &mut encoder,
            ("process_virtual_memory", "Virtual memory", bytes),
            process.virtual_bytes,
        )?;
        gauge(&mut encoder, ("process_threads", "Threads", None), process.threads)?;
        if let Some(open) = open_files() {
            gauge(&mut encoder, ("process_open_fds", "Open file descriptors", None), open)?;
        }
        let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        if let Some(most) = most {
            gauge(
                &mut encoder,
                ("process_max_fds", "Most open file descriptors", None),
                most as i64,
            )?;
        }
        Ok(())
    }
}
