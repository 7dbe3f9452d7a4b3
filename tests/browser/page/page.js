import { createEngine, createWorkerEngine } from '/tandem/index.js';
import { Expectations, checkCases, checkClips, machinesOf } from '/checks/checks.mjs';
import { checkClips as checkSpeech, checkGoldens, checkHalfFiles, checkTypes } from '/checks/gigaam.mjs';
import { checkLifetimes, checkLoading, checkRefusals } from '/checks/gigaam_misuse.mjs';
import { checkJit } from '/checks/jit.mjs';
import { checkOperations } from '/checks/jit_operations.mjs';
import { checkLargeMemory } from '/checks/memory.mjs';
import { checkCycles, checkMisuse } from '/checks/misuse.mjs';
import { checkProfiles, checkSpeechProfiles } from '/checks/profile.mjs';
import { checkSilero } from '/checks/silero_model.mjs';
import { checkKeptTiles, checkTuning, tilesOfWorker } from '/checks/tuning.mjs';

async function bytes(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return response.arrayBuffer();
}

const loadExpectations = async () =>
  new Expectations(await (await fetch('/expectations/index.json')).json(), await bytes('/expectations/data.bin'));
const golden = async (version, rate) => (await fetch(`/golden/${version}_${rate / 1000}k.json`)).json();
const samplesOf = async (id) => new Float32Array(await bytes(`/clips/${id}.f32`));
const readGolden = async (name) => new Uint8Array(await bytes(`/goldens/${name}`));
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
  /** GigaAM on an engine of the page or in a worker. */
  async gigaam(place, check) {
    const engine = await (place === 'worker' ? createWorkerEngine() : createEngine());
    const checks = {
      goldens: checkGoldens, types: checkTypes, halves: checkHalfFiles, clips: checkSpeech, refusals: checkRefusals,
      profiles: checkSpeechProfiles,
      loading: (one, read) => checkLoading(one, read, '/models/'),
    };
    try {
      return await checks[check](engine, readGolden);
    } finally {
      await engine.destroy();
    }
  },
  async gigaamLifetimes() {
    return checkLifetimes(createEngine, readGolden);
  },
  async misuse() {
    return checkMisuse(createEngine, new Uint8Array(await bytes(weights('v5'))));
  },
  async profiles() {
    return checkProfiles(createEngine, new Uint8Array(await bytes(weights('v5'))));
  },
  async largeMemory() {
    return checkLargeMemory(createEngine, new Uint8Array(await bytes(weights('v5'))));
  },
  /** Preparing in a worker: how often the page's own work came to its turn meanwhile, and whether results agree. */
  async beside() {
    const remote = await createWorkerEngine();
    const local = await createEngine();
    let turns = 0;
    let isDone = false;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      turns++;
      if (!isDone) port2.postMessage(0);
    };
    port2.postMessage(0);
    const { Module, Instance } = WebAssembly;
    const forbidden = () => {
      throw new Error('a module was compiled on the page');
    };
    WebAssembly.Module = WebAssembly.Instance = forbidden;
    const problems = [];
    const samples = Float32Array.from({ length: 512 }, (_, i) => 0.1 * Math.sin(i * 0.3));
    const text = '%0 = input f32[5] number=0 "a"\n%1 = exp f32[5] %0\noutputs %1 "y"\n';
    const input = Float32Array.of(-1, 0, 0.5, 1, 2);
    let vad;
    let graph;
    const asked = turns;
    try {
      vad = await remote.loadSileroVad({ weights: weights('v5') });
      graph = await remote.compileGraph(text);
    } finally {
      WebAssembly.Module = Module;
      WebAssembly.Instance = Instance;
    }
    const meanwhile = turns - asked;
    isDone = true;
    const localVad = await local.loadSileroVad({ weights: weights('v5') });
    if ((await vad.step(samples)) !== localVad.step(samples)) problems.push('the worker has another probability');
    const [[there], [here]] = [await graph.run([input]), local.compileGraph(text).run([input])];
    if (there.data.join() !== here.data.join()) problems.push(`the worker has ${there.data}, the page ${here.data}`);
    if ((await graph.executeProfiled([input])).length !== 1) problems.push('no profile of the graph');
    if ((await vad.executeProfiled({ repetitions: 2 })).length < 3) problems.push('no profile of the detector');
    if (!WebAssembly.validate(await graph.moduleBytes())) problems.push('the module is not valid');
    await graph.destroy();
    const after = await graph.run([input]).then(() => 'no error', ({ code }) => code);
    if (after !== 'Destroyed') problems.push(`a destroyed graph: ${after}`);
    await remote.destroy();
    local.destroy();
    return { problems, meanwhile };
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
  async tuning() {
    return checkTuning(createEngine);
  },
  async keptTiles() {
    return checkKeptTiles(createEngine);
  },
  async tilesOfWorker() {
    return tilesOfWorker(createWorkerEngine, weights('v5'));
  },
  timings,
  policy: () => policy,
  isolated: () => self.crossOriginIsolated,
};
