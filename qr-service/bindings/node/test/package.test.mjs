import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as imported from '../index.js';

const require = createRequire(import.meta.url);
const folder = fileURLToPath(new URL('..', import.meta.url));

describe('the package', () => {
  it('is the same by import and by require', () => {
    assert.equal(require('../index.js').generate, imported.generate);
    assert.equal(require('../index.js').generateAsync, imported.generateAsync);
  });

  it('says how to build it if it is not built or cannot be loaded', () => {
    const copy = mkdtempSync(join(tmpdir(), 'qr-node-'));
    try {
      cpSync(join(folder, 'index.js'), join(copy, 'index.js'));
      const load = () => require(join(copy, 'index.js'));
      assert.throws(load, { message: /is not built; build it with: .*build\.sh/ });
      writeFileSync(join(copy, 'qr.node'), 'no library');
      assert.throws(load, ({ message, cause }) => {
        assert.match(message, /cannot be loaded; build it with: .*build\.sh/);
        assert.equal(cause.code, 'ERR_DLOPEN_FAILED');
        return true;
      });
    } finally {
      rmSync(copy, { recursive: true });
    }
  });

  it('has types that accept and refuse what the addon does', () => {
    const tsc = require.resolve('typescript/package.json').replace('package.json', 'bin/tsc');
    execFileSync(process.execPath, [tsc, '--noEmit', '-p', join(folder, 'test')], {
      stdio: 'inherit',
    });
  });
});
