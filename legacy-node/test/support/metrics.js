/** Parses the part of Prometheus' text format that the tests need. */

/** @returns {Promise<{name: string, labels: Record<string, string>, value: number}[]>} */
export async function readMetrics(adminUrl) {
  const response = await fetch(`${adminUrl}/metrics`);
  const text = await response.text();
  return text
    .split('\n')
    .filter((line) => line && !line.startsWith('#'))
    .map(parseSample);
}

/** The sum of a metric's samples with these labels. */
export function sumOf(samples, name, labels = {}) {
  const wanted = Object.entries(labels);
  return samples
    .filter((s) => s.name === name && wanted.every(([key, value]) => s.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

function parseSample(line) {
  const [, name, inBraces = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line);
  const pairs = [...inBraces.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  const labels = Object.fromEntries(pairs.map(([, key, text]) => [key, text]));
  return { name, labels, value: Number(value) };
}
