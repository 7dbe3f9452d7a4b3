// Times each operation in each runtime on one page: the runtimes take turns, so that a slow moment meets all of them.
import { cases, reference } from './cases.js';

const modules = { tandem: './tandem.js', onnxruntime: './peers/onnxruntime.js', tfjs: './peers/tfjs.js',
  jax: './peers/jax.js', litert: './peers/litert.js' };

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Milliseconds of a measurement: long beside what reading the thread's clock costs the page. */
const LONG = 40;

/** Runs `count` times. A call that is synchronous is not awaited: that would cost more than small ones do. */
async function repeat({ run }, count) {
  for (let i = 0; i < count; i++) {
    const pending = run();
    if (pending) await pending;
  }
}

/** Milliseconds that the work takes of this thread. */
async function time(work) {
  const start = await window.threadMilliseconds();
  await work();
  return (await window.threadMilliseconds()) - start;
}

/** Runs until V8 has compiled for speed; the number of calls that take `milliseconds` afterwards. */
async function warmUp(contender, milliseconds) {
  const begin = await window.threadMilliseconds();
  let count = 1;
  let last = 0;
  do {
    last = await time(() => repeat(contender, count));
    if (last < milliseconds) count *= 2;
  } while ((await window.threadMilliseconds()) - begin < 600);
  last = await time(() => repeat(contender, count));
  return Math.max(1, Math.ceil((count * milliseconds) / Math.max(last, 0.1)));
}

/** The largest error as a share of the largest value. */
function errorOf(values, expected) {
  if (values.length !== expected.length) return Infinity;
  let error = 0;
  let largest = 0;
  for (let i = 0; i < expected.length; i++) {
    const difference = Math.abs(values[i] - expected[i]);
    if (!(difference <= error)) error = difference;
    largest = Math.max(largest, Math.abs(expected[i]));
  }
  return error / largest;
}

async function measureCase(test, runtimes, rounds) {
  const expected = reference(test);
  const contenders = [];
  const failures = {};
  for (const { name, make } of runtimes) {
    try {
      const began = performance.now();
      const contender = await make(test);
      await contender.run();
      const error = errorOf(contender.read(), expected);
      const firstMs = performance.now() - began;
      contenders.push({ name, ...contender, error, firstMs, times: [], count: await warmUp(contender, LONG) });
    } catch (error) {
      failures[name] = String(error);
    }
  }
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < contenders.length; i++) {
      const contender = contenders[(i + round) % contenders.length];
      contender.times.push((1000 * (await time(() => repeat(contender, contender.count)))) / contender.count);
    }
  }
  for (const { close } of contenders) close();
  return {
    name: test.name, flops: test.flops, failures,
    runtimes: contenders.map(({ name, error, firstMs, times }) =>
      ({ name, error, firstMs, microseconds: median(times), fastest: Math.min(...times) })),
  };
}

/** GFLOP/s of a loop that does nothing but multiply and add vectors: `{bytes, flops}`, flops of one iteration. */
async function measurePeak({ bytes, flops }) {
  const { peak } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(bytes))).exports;
  const iterations = 4e6;
  let best = Infinity;
  for (let i = 0; i < 12; i++) {
    best = Math.min(best, await time(() => peak(iterations)));
  }
  return (flops * iterations) / best / 1e6;
}

/** `runtimes`: names of modules above. `peaks`: loops, of which the first that this browser takes counts. */
window.measure = async ({ runtimes, filter, rounds, peaks }) => {
  const opened = [];
  for (const name of runtimes) opened.push(await (await import(modules[name])).open());
  const chosen = cases.filter(({ name }) => name.includes(filter));
  const results = [];
  for (const test of chosen) results.push(await measureCase(test, opened, rounds));
  const usable = peaks.find(({ bytes }) => WebAssembly.validate(Uint8Array.from(bytes)));
  for (const { close } of opened) close();
  return { results, peak: await measurePeak(usable), peakOf: usable.name };
};
