// Where the files of the web tests lie, and how the generated ones are made.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Expectations } from './checks.mjs';
import { LABELS } from './gigaam.mjs';
import { tokenizerModel } from './gigaam_misuse.mjs';
import { readSafetensors, weightsOf, writeSafetensors } from './safetensors.mjs';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const packageFolder = join(root, 'build/web/tandem');
/** Ends the program with the command that builds the package in a folder, when there is none. */
export function needPackage(folder = packageFolder) {
  if (existsSync(join(folder, 'index.js')) && existsSync(join(folder, 'tandem.wasm'))) return;
  console.error(`there is no JavaScript package in ${folder}; build it first: cmake --preset web && cmake --build --preset web`);
  process.exit(2);
}

export const clipsFolder = join(root, 'build/native/clips');
export const expectationsFolder = join(root, 'build/web/expectations');
export const models = [['v5', 16000], ['v5', 8000], ['v6', 16000], ['v6', 8000]];

export function weightsPath(version) {
  return join(root, `node_modules/@ricky0123/vad-web/dist/silero_vad_${version}.onnx`);
}

export function golden(version, sampleRate) {
  return JSON.parse(readFileSync(join(root, `tests/golden/silero/${version}_${sampleRate / 1000}k.json`), 'utf8'));
}

/** Runs a script while the other test files, which run side by side, wait. */
function runAlone(script) {
  mkdirSync(expectationsFolder, { recursive: true });
  execFileSync('flock', [`${expectationsFolder}/lock`, 'bash', '-c', `set -e\n${script}`],
    { stdio: ['ignore', 'inherit', 'inherit'] });
}

const clipsScript = `python3 '${root}/tests/golden/silero/rebuild_clips.py' '${clipsFolder}' >/dev/null`;

/** The clips of the goldens, made once. */
export function makeClips() {
  runAlone(clipsScript);
}

/** Clips and expectations, made once after each build. */
export function makeExpectations() {
  const program = join(root, 'build/native/tandem_expectations');
  if (!existsSync(program)) throw new Error('build the native preset first: cmake --workflow --preset native');
  runAlone(`${clipsScript}
    if [ ! '${expectationsFolder}/index.json' -nt '${program}' ]; then '${program}' '${expectationsFolder}' '${clipsFolder}'; fi`);
}

export function loadExpectations() {
  makeExpectations();
  const data = readFileSync(join(expectationsFolder, 'data.bin'));
  const buffer = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  return new Expectations(JSON.parse(readFileSync(join(expectationsFolder, 'index.json'), 'utf8')), buffer);
}

export function clip(id) {
  const bytes = readFileSync(join(clipsFolder, `${id}.f32`));
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

/** The bytes of a file of tests/golden. */
export function readGolden(name) {
  return new Uint8Array(readFileSync(join(root, 'tests/golden', name)));
}

/** Models as the converter writes them, in a folder for each way to have them; the folder of these. */
export function makeGigaAmFiles(folder) {
  const bytes = readGolden('gigaam/e2e_tiny.safetensors');
  const file = readSafetensors(bytes);
  const config = JSON.parse(file.metadata.config);
  const tensors = weightsOf(file);
  const write = (name, content) => {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), content);
  };
  const names = Object.keys(tensors);
  const labelled = JSON.stringify({ ...config, labels: LABELS });
  write('single/model.safetensors', writeSafetensors(tensors));
  write('single/config.json', labelled);
  write('bare/model.safetensors', writeSafetensors(tensors));
  for (const part of [0, 1, 2]) {
    const some = names.filter((_, i) => i % 3 === part);
    write(`several/part-${part}.safetensors`, writeSafetensors(Object.fromEntries(some.map((name) => [name, tensors[name]]))));
  }
  const map = Object.fromEntries(names.map((name, i) => [name, `part-${i % 3}.safetensors`]));
  write('several/model.safetensors.index.json', JSON.stringify({ metadata: { total_size: 1 }, weight_map: map }));
  write('several/config.json', labelled);
  write('gone/model.safetensors.index.json', '{"weight_map": {"x": "gone.safetensors"}}');
  write('elsewhere/model.safetensors.index.json', '{"weight_map": {"x": "../model.safetensors"}}');
  const { pieces } = JSON.parse(readFileSync(join(root, 'tests/golden/text/decoded.json'), 'utf8')).models.unigram_symbols;
  const spelled = tokenizerModel({ bytes }, pieces);
  write('tokenizer/model.safetensors', writeSafetensors(spelled.tensors));
  write('tokenizer/config.json', JSON.stringify(spelled.config));
  write('tokenizer/tokenizer.model', readGolden('text/unigram_symbols.model'));
  return folder;
}
