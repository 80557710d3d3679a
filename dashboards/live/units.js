/** Numbers for people: three significant digits and a fitting unit. */

const SCALES = {
  bytes: [
    [1e9, 'GB'],
    [1e6, 'MB'],
    [1e3, 'kB'],
    [1, 'B'],
  ],
  seconds: [
    [1, 's'],
    [1e-3, 'ms'],
    [1e-6, 'µs'],
  ],
  'per second': [[1, '/s']],
  percent: [[1, '%']],
  count: [[1, '']],
};

/** Three significant digits, without trailing zeros unless `fixed`. */
export function digits(number, fixed = false) {
  if (number === 0) return '0';
  const whole = Math.floor(Math.log10(Math.abs(number))) + 1;
  const decimals = Math.min(Math.max(3 - whole, 0), 6);
  return number.toLocaleString('en-GB', {
    minimumFractionDigits: fixed ? decimals : 0,
    maximumFractionDigits: decimals,
  });
}

/** `0.00123` of `seconds` is `1.23 ms`, with a no-break space. */
export function withUnit(number, unit, fixed = false) {
  if (number == null) return '–';
  const scales = SCALES[unit];
  // 0.9995, because rounding makes 999.9 kB 1 MB.
  const fits = ([scale]) => (number === 0 ? scale === 1 : Math.abs(number) >= scale * 0.9995);
  const [factor, name] = scales.find(fits) ?? scales.at(-1);
  const space = ['%', '/s', ''].includes(name) ? '' : '\u00a0';
  return `${digits(number / factor, fixed)}${space}${name}`;
}

const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const clockShort = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

export const timeOf = (seconds) => clock.format(seconds * 1000);

/** Labels of a time axis with marks `increment` seconds apart; midnight shows the day. */
export function axisTimes(times, increment) {
  return times.map((seconds) => {
    const date = new Date(seconds * 1000);
    if (increment < 60) return clock.format(date);
    const midnight = date.getHours() === 0 && date.getMinutes() === 0;
    return midnight ? day.format(date) : clockShort.format(date);
  });
}

/** Formats an age: `100` is `2 min`. */
export function ageOf(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
