import { createEngine, createWorkerEngine } from '/tandem/index.js';
import { Expectations, checkCases, checkClips, machinesOf } from '/checks/checks.mjs';
import { checkJit } from '/checks/jit.mjs';
import { checkOperations } from '/checks/jit_operations.mjs';
import { checkCycles, checkMisuse } from '/checks/misuse.mjs';
import { checkSilero } from '/checks/silero_model.mjs';

async function bytes(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return response.arrayBuffer();
}

const loadExpectations = async () =>
  new Expectations(await (await fetch('/expectations/index.json')).json(), await bytes('/expectations/data.bin'));
const golden = async (version, rate) => (await fetch(`/golden/${version}_${rate / 1000}k.json`)).json();
const samplesOf = async (id) => new Float32Array(await bytes(`/clips/${id}.f32`));
const weights = (version) => `/weights/silero_vad_${version}.onnx`;

/** How long loading and preparing take on a page that has done nothing else. */
async function timings() {
  const began = performance.now();
  const engine = await createEngine();
  const loadMs = performance.now() - began;
  const data = await bytes(weights('v5'));
  const prepares = [];
  for (let i = 0; i < 3; i++) {
    const vad = await engine.loadSileroVad({ weights: data });
    prepares.push(vad.timings);
    vad.destroy();
  }
  engine.destroy();
  return { loadMs, prepares };
}

/** What must not work here. Asked by the page itself, since a debugger that asks is let through. */
const policy = (() => {
  try {
    return new Function('return "eval works"')();
  } catch (error) {
    return error.name;
  }
})();

window.checks = {
  async cases() {
    const engine = await createEngine();
    const result = checkCases(engine, await loadExpectations());
    engine.destroy();
    return result;
  },
  async clips(version, rate, numerics, place) {
    const engine = await (place === 'worker' ? createWorkerEngine() : createEngine());
    const results = [];
    for (const isa of machinesOf(engine)) {
      results.push(await checkClips(engine, await loadExpectations(), await golden(version, rate), {
        weights: weights(version), numerics, isa, samplesOf,
      }));
    }
    await engine.destroy();
    return { problems: results.flatMap((one) => one.problems), worst: Math.max(...results.map((one) => one.worst)) };
  },
  async misuse() {
    return checkMisuse(createEngine, new Uint8Array(await bytes(weights('v5'))));
  },
  async cycles(count) {
    return checkCycles(createEngine, new Uint8Array(await bytes(weights('v5'))), count);
  },
  /** Errors keep code and details on their way out of a worker. */
  async workerErrors() {
    const engine = await createWorkerEngine();
    const found = [];
    const note = async (action) => {
      try {
        await action();
        found.push('no error');
      } catch (error) {
        found.push([error.name, error.code, error.index ?? error.status ?? error.expected].join(' ').trim());
      }
    };
    await note(() => engine.loadSileroVad({ weights: '/weights/missing.onnx' }));
    const vad = await engine.loadSileroVad({ weights: weights('v5') });
    const bad = new Float32Array(512);
    bad[7] = NaN;
    await note(() => vad.step(bad));
    await note(() => vad.step(new Float32Array(3)));
    await note(() => engine.loadSileroVad({ weights: () => 0 }));
    await vad.destroy();
    await note(() => vad.step(new Float32Array(512)));
    await engine.destroy();
    await note(() => engine.counters());
    return found;
  },
  async jit() {
    return checkJit(createEngine, new Uint8Array(await bytes(weights('v5'))));
  },
  async jitOperations(numerics) {
    return checkOperations(await createEngine(), numerics);
  },
  async jitSilero(numerics) {
    return checkSilero(await createEngine(), {
      weights: weights('v5'), golden: await golden('v5', 16000), samplesOf, numerics,
    });
  },
  async jitInWorker() {
    const engine = await createWorkerEngine();
    try {
      return await engine.jit({}).catch((error) => `${error.code}: ${error.message}`);
    } finally {
      await engine.destroy();
    }
  },
  timings,
  policy: () => policy,
  isolated: () => self.crossOriginIsolated,
};
