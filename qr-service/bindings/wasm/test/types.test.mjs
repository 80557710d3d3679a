import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

// The addon's packages have the compiler.
const { resolve } = createRequire(new URL('../../node/package.json', import.meta.url));

describe('the types', () => {
  it('accept and refuse what the modules do', () => {
    const tsc = resolve('typescript/package.json').replace('package.json', 'bin/tsc');
    const project = fileURLToPath(new URL('tsconfig.json', import.meta.url));
    execFileSync(process.execPath, [tsc, '-p', project], { stdio: 'inherit' });
  });
});
