import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { packageFolder, root, weightsPath } from '../web/files.mjs';

const files = readdirSync(packageFolder);
const contentOf = (name) => readFileSync(join(packageFolder, name));
const scripts = files.filter((name) => name.endsWith('.js'));

test('sizes (printed)', (t) => {
  const total = [0, 0, 0];
  for (const name of files.filter((one) => /\.(js|wasm)$/.test(one))) {
    const content = contentOf(name);
    const sizes = [content.length, gzipSync(content, { level: 9 }).length, brotliCompressSync(content).length];
    sizes.forEach((size, i) => (total[i] += size));
    t.diagnostic(`${name}: ${sizes[0]} bytes, gzip ${sizes[1]}, brotli ${sizes[2]}`);
  }
  t.diagnostic(`together: ${total[0]} bytes, gzip ${total[1]}, brotli ${total[2]}`);
  assert.ok(WebAssembly.validate(contentOf('tandem.wasm')));
});

test('everything that package.json names is there', () => {
  const { exports, types, type } = JSON.parse(contentOf('package.json'));
  assert.equal(type, 'module');
  const named = [types, ...Object.values(exports).flatMap((one) => (typeof one === 'string' ? one : Object.values(one)))];
  for (const file of named) assert.ok(files.includes(file.replace('./', '')), file);
  for (const name of ['LICENSE', 'THIRD_PARTY.md', 'README.md']) assert.ok(files.includes(name), name);
});

test('no script needs unsafe-eval, another host or a package', () => {
  for (const name of scripts) {
    const text = contentOf(name).toString();
    assert.doesNotMatch(text, /\beval\s*\(|new Function\s*\(|blob:https?|https?:\/\/(?!localhost)/, name);
    for (const [, from] of text.matchAll(/^\s*(?:import|export)[^'"\n]*from\s*['"]([^'"]+)/gm)) {
      assert.ok(from.startsWith('./'), `${name} imports ${from}`);
    }
  }
});

test('the types fit a program that uses them', () => {
  const folder = join(root, 'build/web/types');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'consumer.ts'), `
    import { createEngine, createWorkerEngine, TandemError } from '../tandem/index.js';
    const engine = await createEngine({ maximumMemory: 1 << 28, numerics: 'reproducible' });
    const vad = await engine.loadSileroVad({ weights: new ArrayBuffer(0), version: 'v6', sampleRate: 8000 });
    const probability: number = vad.step(new Float32Array(256));
    const segments: { start: number; end: number }[] = engine.speechTimestamps(vad.process(new Float32Array(9)));
    const event = engine.createVadIterator({ threshold: 0.4 }).add(probability);
    const remote = await createWorkerEngine();
    const later: Float32Array = await (await remote.loadSileroVad({ weights: 'a.onnx' })).process(new Float32Array(1));
    const rows: { kernel: string; seconds: number }[] = vad.executeProfiled({ repetitions: 5, marks: false });
    const graph = await remote.compileGraph('', { constants: {} });
    const [{ data }] = await graph.run([new Float32Array(1)], { t: 3 });
    console.log(rows, data, (await graph.executeProfiled())[0].share, graph.inputs[0].shape);
    const gigaam = await engine.loadGigaAM({
      weights: ['a.safetensors', new ArrayBuffer(0)], config: { head: { type: 'ctc' } }, vocabulary: ['a'], weightsDtype: 'f16',
      activations: 'bf16',
      onProgress: ({ phase, loaded = 0, total }) => console.log(phase, total && loaded / total),
    });
    const words: { text: string; start: number; end: number }[] = gigaam.transcribe(new Float32Array(9)).words;
    const { scores, sequences } = gigaam.recognizeMel(gigaam.logMel(new Float32Array(9)).data, new Int32Array(1));
    const distant = await remote.loadGigaAM({ weights: new URL('a.safetensors', 'http://a/'), head: 'rnnt', maxSeconds: 10 });
    const text: string = (await distant.transcribe(new Float32Array(9))).text;
    console.log(words, scores[0], sequences[0].tokens, text, distant.maxSamples);
    try { vad.destroy(); } catch (error) { if (error instanceof TandemError) console.log(error.code, error.index); }
    // @ts-expect-error weights are not kept as f64
    await engine.loadGigaAM({ weights: 'a.safetensors', weightsDtype: 'f64' });
    // @ts-expect-error activations are not stored as f16
    await engine.loadGigaAM({ weights: 'a.safetensors', activations: 'f16' });
    // @ts-expect-error another rate is refused
    await engine.loadSileroVad({ weights: 'a.onnx', sampleRate: 44100 });
    console.log(segments, event?.sample, later);
  `);
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--lib',
    'es2022,dom', '--typeRoots', folder, join(folder, 'consumer.ts')], { stdio: 'inherit' });
});

test('the engine works in a worker thread of Node.js', async () => {
  const script = `
    import { parentPort, workerData } from 'node:worker_threads';
    import { pathToFileURL } from 'node:url';
    const { createEngine } = await import(pathToFileURL(workerData.index));
    const engine = await createEngine();
    const vad = await engine.loadSileroVad({ weights: workerData.weights });
    parentPort.postMessage(vad.step(new Float32Array(512)));
  `;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`), {
    workerData: { index: join(packageFolder, 'index.js'), weights: weightsPath('v5') },
  });
  const probability = await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  await worker.terminate();
  // Computed by onnxruntime.
  assert.ok(Math.abs(probability - 0.012012) < 2e-5, String(probability));
});
