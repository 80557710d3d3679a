//! The standard `process_*` metrics, read from `/proc/self` at each scrape.
//!
//! Names: <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>.

use std::fmt;

use procfs::WithCurrentSystemInfo;
use procfs::process::{LimitValue, Process};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

use super::telemetry;

/// Exports the metrics of this process; omits those that cannot be read.
#[derive(Debug, Default)]
pub struct ProcessCollector;

fn encode(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help, unit): (&str, &str, Option<&Unit>),
    metric: &impl EncodeMetric,
) -> fmt::Result {
    metric.encode(encoder.encode_descriptor(name, help, unit, metric.metric_type())?)
}

/// Counts open descriptors, without the one that the listing itself opens.
fn open_fds() -> Option<i64> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count() as i64 - 1)
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        let open = open_fds(); // first, because `Process` holds a descriptor
        let Ok(process) = Process::myself() else { return Ok(()) };
        let Ok(stat) = process.stat() else { return Ok(()) };
        let (seconds, bytes) = (Some(&Unit::Seconds), Some(&Unit::Bytes));

        let ticks = procfs::ticks_per_second() as f64;
        let cpu = ConstCounter::new((stat.utime + stat.stime) as f64 / ticks);
        encode(encoder, ("process_cpu", "User and system CPU time spent", seconds), &cpu)?;
        if let Ok(booted) = procfs::boot_time_secs() {
            let start = ConstGauge::new(booted as f64 + stat.starttime as f64 / ticks);
            let help = "Start time of the process since the Unix epoch";
            encode(encoder, ("process_start_time", help, seconds), &start)?;
        }
        let dropped = ConstCounter::new(telemetry::dropped_lines());
        let help = "Log lines dropped because standard output was not read in time";
        encode(encoder, ("log_lines_dropped", help, None), &dropped)?;
        let max_fds = process.limits().ok().and_then(|it| match it.max_open_files.soft_limit {
            LimitValue::Value(most) => Some(most as i64),
            LimitValue::Unlimited => None,
        });
        let resident = stat.rss_bytes().get() as i64;
        for (name, help, unit, value) in [
            ("process_resident_memory", "Resident memory", bytes, Some(resident)),
            ("process_virtual_memory", "Virtual memory", bytes, Some(stat.vsize as i64)),
            ("process_threads", "Threads", None, Some(stat.num_threads)),
            ("process_open_fds", "Open file descriptors", None, open),
            ("process_max_fds", "Most open file descriptors", None, max_fds),
        ] {
            if let Some(value) = value {
                encode(encoder, (name, help, unit), &ConstGauge::new(value))?;
            }
        }
        Ok(())
    }
}
