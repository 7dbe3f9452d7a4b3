import assert from 'node:assert/strict';
import { test } from 'node:test';
import { models } from '../web/files.mjs';
import { useTestPage } from './support.mjs';

const { run, errors } = useTestPage();

test('loading and preparing on a fresh page (timings are printed)', async (t) => {
  const { loadMs, prepares } = await run('timings');
  t.diagnostic(`engine loaded in ${loadMs.toFixed(0)} ms`);
  for (const { prepareMs, scheduleMs, emitMs, loadMs: moduleMs, packMs } of prepares) {
    t.diagnostic(`prepared in ${prepareMs.toFixed(0)} ms: scheduling ${scheduleMs.toFixed(1)}, emitting ` +
      `${emitMs.toFixed(1)}, loading the module ` +
      `${moduleMs.toFixed(1)}, packing ${packMs.toFixed(1)}`);
  }
  assert.equal(prepares.length, 3);
});

test('the page is not isolated and may compile WebAssembly but not JavaScript', async () => {
  assert.equal(await run('isolated'), false);
  assert.equal(await run('policy'), 'EvalError');
});

test('every case of the table: bounds, bits, modules', async (t) => {
  const { failures, count } = await run('cases');
  t.diagnostic(`${count} runs`);
  assert.ok(count > 2000);
  assert.deepEqual(failures.slice(0, 20), [], `${failures.length} failures`);
});

for (const place of ['page', 'worker']) {
  for (const [version, sampleRate] of models) {
    for (const numerics of ['fast', 'reproducible']) {
      test(`Silero ${version} at ${sampleRate} Hz agrees with the goldens: ${place}, ${numerics}`, async (t) => {
        const { problems, worst } = await run('clips', version, sampleRate, numerics, place);
        t.diagnostic(`largest difference of a probability: ${worst.toExponential(1)}`);
        assert.deepEqual(problems, []);
      });
    }
  }
}

test('wrong use gives typed errors and loses nothing', async () => {
  assert.deepEqual(await run('misuse'), []);
});

test('1,000 times prepare and destroy leave modules, table and memory as they were', async () => {
  assert.deepEqual(await run('cycles', 1000), []);
});

test('profiles: rows, operations, marks on the timeline, an untouched stream', async () => {
  assert.deepEqual(await run('profiles'), []);
});

test('preparing in a worker leaves the page its turns', async (t) => {
  const { problems, meanwhile } = await run('beside');
  t.diagnostic(`${meanwhile} turns while a detector and a graph were prepared`);
  assert.deepEqual(problems, []);
  assert.ok(meanwhile > 20, `${meanwhile} turns`);
});

test('plans above 2 GiB, and memory that can not be had', async () => {
  assert.deepEqual(await run('largeMemory'), []);
});

test('errors keep their code on the way out of a worker', async () => {
  assert.deepEqual(await run('workerErrors'), [
    'TandemError Load 404', 'TandemError NonFinite 7', 'TandemError InvalidArgument 512', 'TandemError InvalidArgument',
    'TandemError Destroyed', 'TandemError Destroyed',
  ]);
});

test('tuned plans: kept tiles, damaged and broken stores, the bits of plans that are not tuned', async () => {
  assert.deepEqual(await run('tuning'), []);
});

test('a browser keeps the tiles that tuning found, for pages and workers, as long as it is the same browser', async (t) => {
  assert.deepEqual(await run('keptTiles'), []);
  const { tiles, probability } = await run('tilesOfWorker');
  t.diagnostic(`a tuned detector in a worker left ${tiles} tiles`);
  assert.ok(tiles > 0);
  assert.ok(probability >= 0 && probability < 0.1, `${probability}`);
});

test('the page reported no errors of its own', () => {
  const unexpected = errors().filter((text) => !text.includes('404'));
  assert.deepEqual(unexpected, []);
});
