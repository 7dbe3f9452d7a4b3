// Where the files of the web tests lie, and how the generated ones are made.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Expectations } from './checks.mjs';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const packageFolder = join(root, 'build/web/tandem');
export const clipsFolder = join(root, 'build/native/clips');
export const expectationsFolder = join(root, 'build/web/expectations');
export const models = [['v5', 16000], ['v5', 8000], ['v6', 16000], ['v6', 8000]];

export function weightsPath(version) {
  return join(root, `node_modules/@ricky0123/vad-web/dist/silero_vad_${version}.onnx`);
}

export function golden(version, sampleRate) {
  return JSON.parse(readFileSync(join(root, `tests/golden/silero/${version}_${sampleRate / 1000}k.json`), 'utf8'));
}

/** Clips and expectations, made once after each build; test files that run side by side wait for each other. */
export function makeExpectations() {
  const program = join(root, 'build/native/tandem_expectations');
  if (!existsSync(program)) throw new Error('build the native preset first: cmake --workflow --preset native');
  mkdirSync(expectationsFolder, { recursive: true });
  const script = `set -e
    python3 '${root}/tests/golden/silero/rebuild_clips.py' '${clipsFolder}' >/dev/null
    if [ ! '${expectationsFolder}/index.json' -nt '${program}' ]; then '${program}' '${expectationsFolder}' '${clipsFolder}'; fi`;
  execFileSync('flock', [`${expectationsFolder}/lock`, 'bash', '-c', script], { stdio: ['ignore', 'inherit', 'inherit'] });
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
