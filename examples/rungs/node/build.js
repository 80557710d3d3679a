/**
 * Makes a component from the module that wit-bindgen has prepared, and from the component the JavaScript that Node
 * loads: build.js MODULE FOLDER writes FOLDER/qr.wasm, and FOLDER/qr.js with its modules.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { transpileBytes } from '@bytecodealliance/jco-transpile';
import { componentNew } from '@bytecodealliance/jco-transpile/wasm-tools';

const [module, folder] = process.argv.slice(2);
const component = await componentNew(await readFile(module));
await mkdir(folder, { recursive: true });
await writeFile(`${folder}/qr.wasm`, component);
const { files } = await transpileBytes(component, { name: 'qr', instantiation: 'sync' });
// Otherwise Node treats qr.js as CommonJS.
files['package.json'] = '{ "type": "module" }\n';
for (const [name, content] of Object.entries(files)) await writeFile(`${folder}/${name}`, content);
