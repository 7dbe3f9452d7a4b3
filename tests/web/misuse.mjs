// What must fail, and how: shared by Node.js and the browser.
import { withTrappingKernels } from './trap.mjs';

async function errorOf(action) {
  try {
    await action();
    return { name: 'TandemError', code: 'no error', message: '' };
  } catch (error) {
    return error;
  }
}

async function codeOf(action) {
  const error = await errorOf(action);
  return error.name === 'TandemError' ? error.code : `${error.name}: ${error.message}`;
}

function speechLike(length, seed) {
  let state = seed;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 32 - 0.5) * 0.2;
  });
}

/** A safetensors file: 8 bytes of header length, the header. */
function safetensors(header, size = 0) {
  const text = new TextEncoder().encode(header);
  const bytes = new Uint8Array(8 + text.length + size);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  return bytes;
}

const BIG = (count) => `%0 = input f32[${count}] number=0 "a"\n%1 = neg f32[${count}] %0\noutputs %1 "y"\n`;

/** An option that is null is as good as none, in every call. */
async function checkNulls(createEngine, weights) {
  const problems = [];
  const nulls = (...names) => Object.fromEntries(names.map((name) => [name, null]));
  const same = (what, found, wanted) => {
    const [a, b] = [found, wanted].map((value) => JSON.stringify(value));
    if (a !== b) problems.push(`${what} with null: ${a}, not ${b}`);
  };
  try {
    const engine = await createEngine(
      nulls('baseUrl', 'wasmUrl', 'wasmBinary', 'wasmModule', 'maximumMemory', 'isa', 'numerics', 'warmUp'));
    same('createEngine()', engine.capabilities.numerics, 'fast');
    const target = nulls('isa', 'numerics');
    const silero = { weights, ...nulls('version', 'sampleRate', 'weightsDtype'), ...target };
    const samples = speechLike(512, 3);
    const [vad, usual] = [await engine.loadSileroVad(silero), await engine.loadSileroVad({ weights })];
    same('loadSileroVad()', [vad.version, vad.sampleRate, vad.step(samples)], ['v5', 16000, usual.step(samples)]);
    same('executeProfiled()', vad.executeProfiled(nulls('repetitions', 'marks')).length, vad.executeProfiled().length);
    const offline = await engine.loadSileroOffline(silero);
    same('loadSileroOffline()', offline.sampleRate, 16000);
    same('no weights', await codeOf(() => engine.loadSileroVad({ weights: null })), 'InvalidArgument');
    const graph = engine.compileGraph(BIG(1), { constants: null, ...target });
    same('compileGraph()', Array.from(graph.run([Float32Array.of(2)])[0].data), [-2]);
    const probabilities = Array.from({ length: 60 }, (_, i) => (i % 30 < 20 ? 0.9 : 0.1));
    same('speechTimestamps()', engine.speechTimestamps(probabilities, nulls(
      'sampleRate', 'samples', 'threshold', 'negThreshold', 'minSpeechDurationMs', 'maxSpeechDurationS', 'minSilenceDurationMs',
      'speechPadMs', 'minSilenceAtMaxSpeechMs', 'useLongestSilenceAtMaxSpeech', 'returnSeconds', 'timeResolution')),
    engine.speechTimestamps(probabilities));
    engine.createVadIterator(nulls('sampleRate', 'threshold', 'minSilenceDurationMs', 'speechPadMs')).destroy();
    const jit = engine.jit({ build: (_, { full }) => full([2], 3) }).prepare({}, { ...target, memoryLimit: null });
    jit.execute();
    same('prepare()', Array.from(jit.output().data), [3, 3]);
    engine.destroy();
  } catch (error) {
    problems.push(`an option that is null: ${error.stack}`);
  }
  return problems;
}

/** Sentences about what is wrong; empty when all is well. `weights`: the bytes of silero_vad_v5.onnx. */
export async function checkMisuse(createEngine, weights) {
  const problems = [];
  const expect = (what, found, wanted) => {
    const fits = Array.isArray(wanted) ? wanted.includes(found) : found === wanted;
    if (!fits) problems.push(`${what}: ${found}, not ${wanted}`);
  };
  const engine = await createEngine();
  const vad = await engine.loadSileroVad({ weights });
  const other = await engine.loadSileroVad({ weights });

  // Wrong samples change nothing.
  const first = speechLike(512, 1);
  const second = speechLike(512, 2);
  vad.step(first);
  other.step(first);
  for (const value of [NaN, Infinity, -Infinity]) {
    const bad = second.slice();
    bad[300] = value;
    for (const method of ['step', 'process']) {
      try {
        vad[method](bad);
        problems.push(`${method} took ${value}`);
      } catch (error) {
        expect(`${method} of ${value}`, `${error.code} ${error.index}`, 'NonFinite 300');
      }
    }
  }
  for (const length of [0, 1, 511, 513, 576, 1024]) {
    try {
      vad.step(new Float32Array(length));
      problems.push(`step took ${length} samples`);
    } catch (error) {
      expect(`step of ${length}`, `${error.code} ${error.expected} ${error.actual}`, `InvalidArgument 512 ${length}`);
    }
  }
  for (const samples of [null, undefined, [0, 1], new Float64Array(512), new Int16Array(512), 'x']) {
    expect('step of a wrong type', await codeOf(() => vad.step(samples)), 'InvalidArgument');
  }
  expect('a step after refused samples', vad.step(second), other.step(second));

  // So do samples that are finite, but make the network overflow; also when windows before them were fine.
  const large = second.slice();
  large[300] = 3e38;
  expect('a step that overflows', await codeOf(() => vad.step(large)), 'NonFinite');
  expect('a step after the overflow', vad.step(first), other.step(first));
  vad.process(first.subarray(0, 100));
  other.process(first.subarray(0, 100));
  const long = new Float32Array(3000);
  for (let at = 0; at + 512 <= long.length; at += 512) long.set(second, at);
  long[2500] = -3e38;
  expect('samples that overflow', await codeOf(() => vad.process(long)), 'NonFinite');
  expect('samples of one window that overflow', await codeOf(() => vad.process(large)), 'NonFinite');
  for (const detector of [vad, other]) detector.process(second.subarray(0, 1));
  expect('the stream after the overflow', vad.process(long.subarray(0, 2048)).join(),
    other.process(long.subarray(0, 2048)).join());
  expect('its state', JSON.stringify(vad.state()), JSON.stringify(other.state()));
  const wrong = Float32Array.of(3e38, -3e38);
  const healthy = other.flush()[0];
  vad.process(wrong);
  expect('flush that overflows', await codeOf(() => vad.flush()), 'NonFinite');
  expect('flush that overflows, again', await codeOf(() => vad.flush()), 'NonFinite');
  expect('a healthy flush', healthy > 0 && healthy < 1, true);
  vad.reset();
  other.reset();
  vad.process(new Float32Array(100));
  expect('step with samples waiting', await codeOf(() => vad.step(first)), 'InvalidArgument');
  vad.reset();

  // Weights.
  for (const length of [0, 1, 7, 8, 100, 5000, 1000000, weights.length - 1]) {
    expect(`weights cut to ${length} bytes`,
      await codeOf(() => engine.loadSileroVad({ weights: weights.subarray(0, length) })), ['InvalidFormat', 'NotFound']);
  }
  const page = new TextEncoder().encode('<!doctype html><title>not found</title>');
  expect('a page as weights', await codeOf(() => engine.loadSileroVad({ weights: page })), ['InvalidFormat', 'NotFound']);
  expect('weights without tensors', await codeOf(() => engine.loadSileroVad({ weights: safetensors('{}') })), 'NotFound');
  const alien = safetensors('{"stft_conv.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', 8);
  expect('weights of another model', await codeOf(() => engine.loadSileroVad({ weights: alien })),
    ['NotFound', 'InvalidFormat']);
  expect('no weights', await codeOf(() => engine.loadSileroVad({})), 'InvalidArgument');
  expect('weights of a wrong type', await codeOf(() => engine.loadSileroVad({ weights: 3 })), 'InvalidArgument');
  for (const options of [{ sampleRate: 44100 }, { version: 'v4' }, { numerics: 'exact' }, { isa: 'avx2' },
    { weightsDtype: 'i8' }, { weightsDtype: 16 }]) {
    expect(JSON.stringify(options), await codeOf(() => engine.loadSileroVad({ weights, ...options })), 'InvalidArgument');
  }

  // Graphs.
  const sized = engine.compileGraph('variables t: 1 .. 4\n%0 = input f32[t] number=0 "x"\n%1 = neg f32[t] %0\n' +
    'outputs %1 "y"\n');
  sized.run([new Float32Array(4)], { t: 2 });
  expect('a variable that is not named', sized.run([new Float32Array(4)])[0].shape.join(), '4');
  sized.destroy();
  expect('a graph that is none', await codeOf(() => engine.compileGraph('%0 = nonsense')), 'InvalidFormat');
  expect('a graph that is no text', await codeOf(() => engine.compileGraph(null)), 'InvalidArgument');
  const graph = engine.compileGraph(BIG(3));
  expect('a missing input', await codeOf(() => graph.run([])), 'InputBufferNotFound');
  expect('too long an input', await codeOf(() => graph.run([new Float32Array(4)])), 'ViewOutOfBounds');
  expect('an input of a wrong type', await codeOf(() => graph.run(['x'])), 'InvalidArgument');

  // Segmentation.
  for (const options of [{ threshold: 2 }, { threshold: NaN }, { sampleRate: 44100 }, { samples: 5 }, { speed: 1 },
    { minSpeechDurationMs: -1 }, { sampleRate: '16000' }]) {
    expect(`segments with ${JSON.stringify(options)}`, await codeOf(() => engine.speechTimestamps([0, 1], options)),
      'InvalidArgument');
  }
  expect('segments of nothing', await codeOf(() => engine.speechTimestamps(null)), 'InvalidArgument');
  expect('an iterator at 44.1 kHz', await codeOf(() => engine.createVadIterator({ sampleRate: 44100 })),
    'InvalidArgument');

  // Objects survive growth of the memory.
  const before = engine.counters().memoryBytes;
  const big = engine.compileGraph(BIG(4 << 20));
  expect('growth', engine.counters().memoryBytes > before, true);
  for (const samples of [first, second]) expect('a step after growth', vad.step(samples), other.step(samples));
  expect('a graph after growth', graph.run([Float32Array.of(1, 2, 3)])[0].data.join(), '-1,-2,-3');
  big.destroy();
  graph.destroy();
  expect('a destroyed graph', await codeOf(() => graph.run([])), 'Destroyed');

  // Limits: refused before anything is taken, and the engine goes on.
  const small = await createEngine({ maximumMemory: 32 << 20 });
  expect('a plan above the limit', await codeOf(() => small.compileGraph(BIG(16 << 20))), 'MemoryLimit');
  expect('a small plan afterwards', small.compileGraph(BIG(2)).run([Float32Array.of(1, 2)])[0].data.join(), '-1,-2');
  expect('too small a memory', await codeOf(() => createEngine({ maximumMemory: 1000 })), 'InvalidArgument');
  small.destroy();

  // Options: no object, and names that are unknown.
  const loaders = [
    ['createEngine()', (options) => createEngine(options)],
    ['loadSileroVad()', (options) => engine.loadSileroVad(options)],
    ['loadSileroOffline()', (options) => engine.loadSileroOffline(options)],
    ['loadGigaAM()', (options) => engine.loadGigaAM(options)],
    ['compileGraph()', (options) => engine.compileGraph(BIG(2), options)],
    ['speechTimestamps()', (options) => engine.speechTimestamps([0.5], options)],
    ['createVadIterator()', (options) => engine.createVadIterator(options)],
    ['executeProfiled()', (options) => vad.executeProfiled(options)],
  ];
  for (const [call, load] of loaders) {
    for (const [options, named] of [[null, 'null'], [[], 'an Array of 0'], [7, 'number 7'], [{ wieghts: 1 }, '"wieghts"']]) {
      const found = await errorOf(() => load(options));
      const isRight = found.code === 'InvalidArgument' && found.message.includes(call) && found.message.includes(named);
      if (!isRight) problems.push(`${call} with ${named}: ${found.code} | ${found.message}`);
    }
  }
  const unknown = await errorOf(() => engine.createVadIterator({ speed: 1 }));
  expect('grammar', unknown.message.startsWith('the options of createVadIterator() have "speed", which is unknown; they are '), true);
  const rate = await errorOf(() => engine.loadSileroVad({ weights, sampleRate: NaN }));
  problems.push(...await checkNulls(createEngine, weights));
  expect('a rate that is no number', rate.message.includes('sampleRate is number NaN'), true);

  // After destroy().
  other.destroy();
  other.destroy();
  for (const use of [() => other.step(first), () => other.process(first), () => other.reset(), () => other.state()]) {
    expect('a destroyed detector', await codeOf(use), 'Destroyed');
  }
  engine.destroy();
  engine.destroy();
  for (const use of [() => vad.step(first), () => vad.reset(), () => engine.counters(), () => engine.compileGraph('')]) {
    expect('a destroyed engine', await codeOf(use), 'Destroyed');
  }
  expect('loading after destroy', await codeOf(async () => engine.loadSileroVad({ weights })), 'Destroyed');

  problems.push(...await checkStart(createEngine), ...await checkTrap(createEngine, weights));
  return problems;
}

async function checkStart(createEngine) {
  const problems = [];
  const page = new TextEncoder().encode('<!doctype html><html>');
  try {
    await createEngine({ wasmBinary: page });
    problems.push('a page was taken for the engine');
  } catch (error) {
    if (error.code !== 'Load' || !error.message.includes('<!doctype html>')) problems.push(`a page: ${error.message}`);
  }
  const header = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 255);
  for (const [options, code] of [[{ wasmBinary: header }, 'Load'], [{ wasmModule: {} }, 'InvalidArgument'],
    [{ numerics: 'exact' }, 'InvalidArgument'], [{ isa: 'avx2' }, 'InvalidArgument']]) {
    const found = await codeOf(() => createEngine(options));
    if (found !== code) problems.push(`createEngine: ${found}, not ${code}`);
  }
  return problems;
}

/** A kernel that traps. */
async function checkTrap(createEngine, weights) {
  const problems = [];
  const engine = await createEngine();
  const vad = await engine.loadSileroVad({ weights });
  const graph = engine.compileGraph(BIG(3));
  await withTrappingKernels(async () => {
    const trapping = engine.compileGraph(BIG(5));
    const uses = [() => trapping.executeProfiled([new Float32Array(5)]), () => vad.executeProfiled(),
      () => trapping.run([new Float32Array(5)]), () => vad.step(new Float32Array(512)), () => vad.reset(),
      () => graph.run([new Float32Array(3)]), () => engine.counters(), () => engine.compileGraph(BIG(3))];
    for (const use of uses) {
      try {
        use();
        problems.push(`after a trap this worked: ${use}`);
      } catch (error) {
        if (error.code !== 'Broken' || !error.message.includes('unreachable')) {
          problems.push(`after a trap ${use}: ${error.code} ${error.message}`);
        }
      }
    }
    trapping.destroy();
    vad.destroy();
    engine.destroy();
  });
  const again = await codeOf(async () => (await createEngine()).compileGraph(BIG(5)).run([new Float32Array(5)]));
  if (again !== 'no error') problems.push(`a new engine after a trap: ${again}`);
  return problems;
}

/** Plans are made and destroyed again and again: what the engine holds must stay the same. */
export async function checkCycles(createEngine, weights, cycles) {
  const engine = await createEngine();
  const problems = [];
  // Detectors are equal, every graph is another one: neither may leave anything behind.
  const once = async (number) => {
    const vad = await engine.loadSileroVad({ weights });
    vad.step(new Float32Array(512));
    vad.destroy();
    const graph = engine.compileGraph(BIG(1000 + number));
    graph.run([new Float32Array(1000 + number)]);
    graph.destroy();
  };
  for (let i = 0; i < 20; i++) await once(i);
  const before = engine.counters();
  for (let i = 20; i < 20 + cycles; i++) await once(i);
  const after = engine.counters();
  for (const name of ['objects', 'modules', 'tableSlots', 'memoryBytes']) {
    if (after[name] !== before[name]) problems.push(`${name}: ${before[name]} before, ${after[name]} after`);
  }
  if (after.allocatedBytes > before.allocatedBytes + 4096) {
    problems.push(`allocated: ${before.allocatedBytes} bytes before, ${after.allocatedBytes} after`);
  }
  engine.destroy();
  return problems;
}
