import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createEngine } from '../../build/web/tandem/index.js';
import { makeGigaAmFiles, readGolden } from '../web/files.mjs';
import { LABELS, checkClips, checkGoldens, checkHalfFiles, checkTypes } from '../web/gigaam.mjs';
import { checkLifetimes, checkLoading, checkRefusals } from '../web/gigaam_misuse.mjs';

const engine = await createEngine();
const folder = makeGigaAmFiles(mkdtempSync(join(tmpdir(), 'tandem-gigaam-')));
after(() => rmSync(folder, { recursive: true }));

test('every golden file of GigaAM: log-mel, encoder, scores, tokens, frames, text', async () => {
  assert.deepEqual(await checkGoldens(engine, readGolden), []);
});

test('matrices kept as f16, bf16 and i8, and activations of bf16, are within the stated errors', async () => {
  assert.deepEqual(await checkTypes(engine, readGolden), []);
});

test('a file of f16 is what its numbers are', async () => {
  assert.deepEqual(await checkHalfFiles(engine, readGolden), []);
});

test('clips do not touch each other; words; beams', async () => {
  assert.deepEqual(await checkClips(engine, readGolden), []);
});

test('weights in one file and several, configuration and vocabulary beside them, progress', async () => {
  assert.deepEqual(await checkLoading(engine, readGolden, `${folder}/`), []);
});

test('what does not fit is refused by name', async () => {
  assert.deepEqual(await checkRefusals(engine, readGolden), []);
});

test('recognisers come and go and leave nothing behind', async () => {
  assert.deepEqual(await checkLifetimes(createEngine, readGolden), []);
});

test('weights from a server that does not say how many bytes there are, and from one that breaks off', async () => {
  const bytes = readGolden('gigaam/e2e_tiny.safetensors');
  const server = createServer((request, response) => {
    if (request.url.includes('broken')) {
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, 100000), () => response.destroy());
    } else {
      response.write(bytes.subarray(0, 300000));
      setImmediate(() => response.end(bytes.subarray(300000)));
    }
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const base = `http://127.0.0.1:${server.address().port}/`;
  const options = { vocabulary: LABELS, maxSeconds: 1 };
  try {
    const steps = [];
    const recognizer = await engine.loadGigaAM({ ...options, weights: `${base}whole`, onProgress: (step) => steps.push(step) });
    assert.equal(recognizer.head, 'ctc');
    recognizer.destroy();
    assert.deepEqual([steps.at(-2).loaded, steps.at(-2).total], [bytes.length, undefined]);
    const { allocatedBytes } = engine.counters();
    await assert.rejects(engine.loadGigaAM({ ...options, weights: `${base}broken` }), (error) =>
      error.code === 'Load' && error.url === `${base}broken` && error.message.includes('broke off after'));
    assert.ok(engine.counters().allocatedBytes <= allocatedBytes + 4096);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
