import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { createEngine } from '../../build/web/tandem/index.js';
import { checkCycles, checkMisuse } from '../web/misuse.mjs';
import { weightsPath } from '../web/files.mjs';

const weights = new Uint8Array(readFileSync(weightsPath('v5')));

test('wrong use gives typed errors and loses nothing', async () => {
  assert.deepEqual(await checkMisuse(createEngine, weights), []);
});

test('1,000 times prepare and destroy leave modules, table and memory as they were', async () => {
  assert.deepEqual(await checkCycles(createEngine, weights, 1000), []);
});

test('a missing file is named', async () => {
  const engine = await createEngine();
  await assert.rejects(engine.loadSileroVad({ weights: '/nowhere/silero.onnx' }), (error) =>
    error.code === 'NotFound' && error.message.includes('/nowhere/silero.onnx'));
  await assert.rejects(createEngine({ wasmUrl: '/nowhere/tandem.wasm' }), { code: 'NotFound' });
  engine.destroy();
});

test('an answer of the server that is an error or a page is named', async () => {
  const server = createServer((request, response) => {
    const missing = request.url.includes('missing');
    response.writeHead(missing ? 404 : 200, { 'content-type': 'text/html' });
    response.end('<!doctype html><title>sorry</title>');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const base = `http://127.0.0.1:${server.address().port}/`;
  try {
    await assert.rejects(createEngine({ wasmUrl: base + 'missing.wasm' }), (error) =>
      error.code === 'Load' && error.status === 404 && error.message.includes('missing.wasm'));
    await assert.rejects(createEngine({ baseUrl: base }), (error) =>
      error.code === 'Load' && error.message.includes('tandem.wasm') && error.message.includes('<!doctype html>'));
  } finally {
    server.close();
  }
  await assert.rejects(createEngine({ wasmUrl: base + 'tandem.wasm' }), { code: 'Load' });
});
