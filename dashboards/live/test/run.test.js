/** The page's texts on runs, gates and idle sides, and how it loads its files. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { load } from '../load.js';
import { idleSide, insteadOf, Ratio } from '../ratio.js';
import {
  bandOf,
  byVerdict,
  classesSay,
  commandFor,
  gateSays,
  nextSays,
  runSays,
  stepSays,
} from '../run.js';
import { Figures, State } from '../state.js';
import { timeOf } from '../units.js';

const says = (phase, { silent = 1, isStopped = false } = {}) => runSays(phase, silent, isStopped);
const ordersOf = (phase, given) => says(phase, given).orders.map(([command]) => command);

describe('a run', () => {
  it('has words for every phase of ramp', () => {
    const source = readFileSync(
      new URL('../../../proxy/rollout/src/state.rs', import.meta.url),
      'utf8',
    );
    const [, variants] = source.match(/pub enum Phase \{(.*?)\n\}/s);
    const snake = (name) => name.replace(/(?!^)[A-Z]/g, '_$&').toLowerCase();
    const phases = [...variants.matchAll(/^ {4}(\w+),/gm)].map(([, name]) => snake(name));
    assert.ok(phases.length >= 11, `${phases}`);
    for (const phase of phases) assert.notEqual(says(phase).headline, phase);
  });

  it('that ended early does not read as if it went on, and says what to type', () => {
    const { headline, text, isBad } = says('inconclusive');
    assert.equal(headline, 'Ended: too little data to judge');
    assert.match(text, /no gate is judged/);
    assert.ok(isBad);
    assert.deepEqual(ordersOf('inconclusive'), ['status', 'ramp', 'abort']);
    assert.deepEqual(ordersOf('interrupted'), ['ramp', 'abort']);
    assert.deepEqual(ordersOf('lost'), ['status', 'ramp']);
    assert.deepEqual(ordersOf('rolled_back'), ['status', 'ramp']);
    assert.deepEqual(ordersOf('aborted'), ['ramp']);
    assert.deepEqual(ordersOf('done'), []);
  });

  it('without a heartbeat is silent, unless it has ended', () => {
    assert.equal(says('holding', { silent: 12 }).headline, 'Under way');
    const { headline, text } = says('holding', { silent: 45 });
    assert.equal(headline, 'Silent: its process may be dead');
    assert.match(text, /^No heartbeat for 45 s\./);
    assert.equal(says('going_back', { silent: null }).headline, headline);
    assert.equal(says('done', { silent: 9000 }).headline, 'Done: every step has passed');
  });

  it('cannot go on or begin while the route is stopped', () => {
    for (const phase of ['stopped', 'inconclusive', 'holding', 'lost']) {
      assert.ok(!ordersOf(phase, { isStopped: true }).includes('ramp'), phase);
    }
    assert.deepEqual(ordersOf('stopped'), ['status', 'ramp']);
  });

  it('is moved by commands that name the route', () => {
    const route = { name: 'prices' };
    assert.equal(commandFor(route, 'status'), 'carve status prices');
    assert.equal(commandFor(route, 'clear', '--reason WHY'), 'carve clear prices --reason WHY');
  });

  it('that goes back sends everything to the old side, and asks nobody to clear a stop', () => {
    const metric = (__name__, value) => ({ metric: { __name__ }, value });
    const shown = (...figures) => {
      const split = { asked: { classList: { toggle() {} } }, bar: { style: {} }, real: {} };
      const stop = { textContent: '', replaceChildren() {} };
      const state = Object.assign(Object.create(State.prototype), { split, stop });
      Object.assign(state, { route: { name: 'prices', oldSide: 'Node', newSide: 'Rust' } });
      const all = new Figures([metric('ramp_share_percent', 25), ...figures]);
      state.showStop(all, 0);
      state.showSplit(all, null);
      return [split.asked.textContent, split.bar.style.width, stop.hidden];
    };
    assert.deepEqual(shown(metric('ramp_braked', 0)), ['25% to Rust', '25%', true]);
    const goesBack = [metric('ramp_braked', 1), metric('ramp_stopped', 0)];
    assert.deepEqual(shown(...goesBack), ['0% to Rust', '0%', true]);
  });

  it('says what was compared, and first what never was', () => {
    const count = (name, count, value) => ({ metric: { class: name, count }, value });
    const lines = classesSay([
      count('GET /a 200', 'seen', 1000.4),
      count('GET /a 200', 'compared', 600),
      count('GET /a 200', 'differed', 0),
      count('GET /a 404', 'seen', 20),
      count('GET /a 404', 'compared', 10),
      count('GET /a 404', 'differed', 2),
      count('HEAD /a 200', 'seen', 7),
      count('PUT /a 200', 'seen', 0),
    ]);
    assert.deepEqual(lines, [
      'HEAD /a 200: 7 for clients, never compared',
      'GET /a 200: 1000 for clients, 600 compared, below 0.50% differ',
      'GET /a 404: 20 for clients, 10 compared, 2 differed',
    ]);
  });

  it('says how its step is judged', () => {
    assert.equal(stepSays(2, 5, null), 'Step 2 of 5 is not judged yet.');
    assert.equal(stepSays(2, 5, 'inconclusive'), 'Step 2 of 5 is undecided.');
  });

  it('says what follows, when, and what it waits for', () => {
    const now = 1_700_000_000;
    const held = {
      phase: 'holding',
      hasProcess: true,
      served: '25% to Rust',
      after: '50% to Rust',
    };
    const says = (seconds, undecided, more) =>
      nextSays({ ...held, endsAt: now + seconds, undecided, ...more }, now);
    const at = timeOf(now + 40);
    assert.equal(says(40, []), `Next: 50% to Rust at ${at} if every gate still passes.`);
    const waits = `Next: 50% to Rust once comparisons passes, not before ${at}.`;
    assert.equal(says(40, ['comparisons']), waits);
    const late = 'Next: 50% to Rust once requests and slow pass.';
    assert.equal(says(-3, ['requests', 'slow']), late);
    const last = 'Next: the run is done once every gate passes.';
    assert.equal(says(0, [], { after: null }), last);
  });

  it('says that nothing follows by itself, or that all is done', () => {
    const says = (phase, more) =>
      nextSays({ phase, served: '100% to Rust', hasProcess: false, ...more }, 0);
    for (const phase of ['none', 'inconclusive', 'lost', 'rolled_back', 'holding']) {
      assert.equal(says(phase), 'Next: nothing by itself.', phase);
    }
    assert.equal(says('done'), 'All done: 100% to Rust, and every step has passed.');
    assert.equal(says('whole'), 'All done: 100% to Rust.');
    assert.match(says('holding', { isStopped: true }), /until the stop is cleared/);
    assert.match(says('paused', { hasProcess: true }), /until somebody ends the pause/);
    assert.match(says('going_back', { hasProcess: true }), /back where the run began/);
  });
});

describe('a gate', () => {
  for (const [gate, verdict, value, limit, text] of [
    ['requests', 'pass', 12_345, 100, 'requests passes: 12,345 (limit 100)'],
    ['mismatches', 'fail', 3, 0, 'mismatches fails: 3 (limit 0)'],
    ['comparisons', 'inconclusive', null, null, 'comparisons is undecided'],
    ['failures', 'pass', 0.0002, 0.001, 'failures passes: 0.0002 (limit 0.001)'],
  ]) {
    it(`says ${text}`, () => assert.equal(gateSays({ gate, verdict, value, limit }), text));
  }

  it('says between what bounds the sides differ, as far as that is known', () => {
    const says = (lower, upper) =>
      gateSays({ gate: 'failures', verdict: 'pass', value: 0.0002, limit: 0.005, lower, upper });
    const between = (bounds) => `failures passes: new +0.02 points, ${bounds} (limit +0.50)`;
    assert.equal(says(-0.001, 0.0021), between('between −0.10 and +0.21'));
    assert.equal(says(null, 0.0021), between('at most +0.21'));
    assert.equal(says(-0.001, null), between('at least −0.10'));
  });

  it('says what to do if the shadow does not ask as clients do', () => {
    const of = (verdict) => gateSays({ gate: 'shadow-answers', verdict, value: 0.98, limit: 0.5 });
    assert.match(of('inconclusive'), /^shadow-answers is undecided: .+ shadow\.send_headers/);
    assert.equal(of('pass'), 'shadow-answers passes: 0.98 (limit 0.5)');
  });

  it('that is a test has a band, within two limits of 0', () => {
    const of = (lower, upper) => bandOf({ value: 0, limit: 0.01, lower, upper });
    assert.deepEqual(of(-0.01, 0.005), { from: 25, to: 62.5, estimate: 50, limit: 75 });
    assert.deepEqual(of(null, 0.5), { from: 0, to: 100, estimate: 50, limit: 75 });
    assert.equal(of(null, null), null);
    assert.equal(bandOf({ value: 3, limit: 0 }), null);
  });

  it('comes first if it fails, and last if it passes', () => {
    const gates = ['pass', 'inconclusive', 'fail', 'pass'].map((verdict) => ({ verdict }));
    assert.deepEqual(
      byVerdict(gates).map(({ verdict }) => verdict),
      ['fail', 'inconclusive', 'pass', 'pass'],
    );
  });
});

describe('a comparison', () => {
  it('names the side that no client asks', () => {
    const sides = ['Left', 'Right'];
    assert.equal(idleSide(0, sides), 'Right');
    assert.equal(idleSide(100, sides), 'Left');
    assert.equal(idleSide(null, sides), 'either side');
    for (const served of [1, 50, 99]) assert.equal(idleSide(served, sides), null);
  });

  it('says how many times as much the old side uses, or else what the figures below are', () => {
    const parts = Object.fromEntries(
      ['who', 'number', 'what', 'old', 'new'].map((name) => [name, {}]),
    );
    // Skips the constructor, which copies a template from the page.
    const ratio = Object.assign(Object.create(Ratio.prototype), {
      spec: { unit: 'bytes', what: 'the memory' },
      names: ['Left', 'Right'],
      element: { classList: { toggle() {} } },
      parts,
    });
    const texts = (...shown) => {
      ratio.show(...shown);
      return Object.values(parts).map(({ textContent }) => textContent);
    };
    const figures = ['50.0\u00a0MB', '10.0\u00a0MB'];
    assert.deepEqual(texts(5, 50e6, 10e6, null), ['Left uses', '5.00', 'the memory', ...figures]);
    const idle = ['The memory', 'No traffic on either side', '', ...figures];
    assert.deepEqual(texts(5, 50e6, 10e6, 'either side'), idle);
  });

  it('leaves out a number that says nothing', () => {
    assert.equal(insteadOf(2, 0.2, 0.1, null), null);
    assert.equal(insteadOf(1, 0.00995, 0.00995, null), 'No difference');
    assert.equal(insteadOf(2, 0.2, 0.1, 'Rust'), 'No traffic on Rust');
    assert.equal(insteadOf(null, null, null, null), 'No data yet');
  });
});

describe('files of the page itself', () => {
  it('are asked for again until the server answers, and the reader sees why', async () => {
    const answers = [
      () => Promise.reject(new Error('The operation timed out')),
      () => ({ ok: false, status: 502 }),
      () => ({ ok: true, json: () => ({ ratios: [] }) }),
    ];
    const said = [];
    const by = {
      ask: async (file, { signal }) => {
        assert.equal(file, 'queries.json');
        assert.ok(signal instanceof AbortSignal, 'a server that hangs is not waited for');
        return answers.shift()();
      },
      pause: async () => {},
    };
    const content = await load('queries.json', (problem) => said.push(problem), by);
    assert.deepEqual(content, { ratios: [] });
    assert.match(said[0], /^The page cannot load queries\.json: The operation timed out\. Trying/);
    assert.match(said[1], /HTTP 502/);
    assert.equal(said.at(-1), null);
  });
});
