// What the JavaScript package must do, wherever it runs: the same checks in Node.js, on a page and in a worker. They
// return sentences about what is wrong; an empty list means that all is well.

/** Numbers from tandem_expectations. */
export class Expectations {
  constructor(index, data) {
    this.index = index;
    this.data = data;
  }
  bytes([start, size]) {
    return new Uint8Array(this.data, start, size);
  }
  array(Type, [start, size]) {
    return new Type(this.data, start, size / Type.BYTES_PER_ELEMENT);
  }
}

export function equalBytes(a, b) {
  if (a.byteLength !== b.byteLength) return false;
  const x = new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
  const y = new Uint8Array(b.buffer, b.byteOffset, b.byteLength);
  return x.every((byte, i) => byte === y[i]);
}

const half = new DataView(new ArrayBuffer(4));
function numberOf(dtype, value) {
  if (dtype === 'bf16') {
    half.setUint32(0, value << 16);
    return half.getFloat32(0);
  }
  if (dtype !== 'f16') return Number(value);
  const sign = value & 0x8000 ? -1 : 1;
  const exponent = (value >> 10) & 31;
  const fraction = value & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

/** All NaNs are one value: their bits are not compared. */
function sameBits(dtype, actual, expected) {
  if (equalBytes(actual, expected)) return true;
  if (!['f16', 'bf16', 'f32', 'f64'].includes(dtype) || actual.length !== expected.length) return false;
  return actual.every((value, i) => Object.is(numberOf(dtype, value), numberOf(dtype, expected[i])));
}

function outside(dtype, exact, actual, low, high) {
  if (actual.length !== low.length) return `${actual.length} elements instead of ${low.length}`;
  for (let i = 0; i < actual.length; i++) {
    const value = numberOf(dtype, actual[i]);
    const fine = exact ? Object.is(value, low[i]) : value >= low[i] && value <= high[i];
    const undecided = low[i] === -Infinity && high[i] === Infinity;
    if (!fine && !undecided && !(Number.isNaN(value) && Number.isNaN(low[i]))) {
      return `element ${i} is ${value}, the reference allows ${low[i]} to ${high[i]}`;
    }
  }
  return null;
}

/** One case of the table for one instruction set and kind of numerics. */
function checkCase(engine, expectations, entry, isa, numerics, onModule) {
  const constants = {};
  for (const [name, place] of Object.entries(entry.constants)) constants[name] = expectations.bytes(place);
  const graph = engine.compileGraph(entry.graph, { constants, isa, numerics });
  try {
    const problems = [];
    const bytes = graph.moduleBytes();
    onModule?.(entry.name, bytes);
    if (!WebAssembly.validate(bytes)) problems.push('the module is not valid');
    if (!equalBytes(bytes, expectations.bytes(entry.modules[`${isa}/${numerics}`]))) {
      problems.push('the module differs from that of the native emitter');
    }
    const results = graph.run(entry.inputs.map((place) => place && expectations.bytes(place)), entry.variables);
    results.forEach(({ dtype, data }, i) => {
      const { bits, low, high } = entry.outputs[i];
      if (numerics === 'reproducible' && !sameBits(dtype, data, expectations.array(data.constructor, bits))) {
        problems.push(`output ${i} has other bits than the interpreter's`);
      }
      const wrong = outside(dtype, entry.exact, data, expectations.array(Float64Array, low),
        expectations.array(Float64Array, high));
      if (wrong) problems.push(`output ${i}: ${wrong}`);
    });
    return problems;
  } finally {
    graph.destroy();
  }
}

export function machinesOf(engine) {
  return engine.capabilities.relaxedSimd ? ['wasm-simd128', 'wasm-relaxed'] : ['wasm-simd128'];
}

/** The whole table; `onModule(name, bytes)` gets every emitted module. */
export function checkCases(engine, expectations, onModule) {
  const failures = [];
  let count = 0;
  for (const entry of expectations.index.cases) {
    for (const isa of machinesOf(engine)) {
      for (const numerics of ['fast', 'reproducible']) {
        // A kind of numerics that flushes denormals on some targets does not state these.
        if (entry.denormals && numerics === 'fast') continue;
        count++;
        try {
          for (const problem of checkCase(engine, expectations, entry, isa, numerics, onModule)) {
            failures.push(`${entry.name}, ${isa}, ${numerics}: ${problem}`);
          }
        } catch (error) {
          failures.push(`${entry.name}, ${isa}, ${numerics}: ${error.code ?? error.name}: ${error.message}`);
        }
      }
    }
  }
  return { failures, count };
}

/** Probabilities of a whole clip, the last window filled with zeros. */
async function probabilitiesOf(vad, samples) {
  const most = await vad.process(samples);
  const rest = await vad.flush();
  const all = new Float32Array(most.length + rest.length);
  all.set(most);
  all.set(rest, most.length);
  return all;
}

function checkState(name, values, golden, key, problems) {
  const near = (what, value, expected, tolerance) => {
    if (!(Math.abs(value - expected) <= tolerance)) problems.push(`${name}: ${what} is ${value}, not ${expected}`);
  };
  golden[key + '8'].forEach((expected, i) => near(`${key}[${i}]`, values[i], expected, 5e-4 + 1e-5 * Math.abs(expected)));
  const tolerance = 128 * 5e-4 + 1e-5 * golden[key + '_abs_sum'];
  near(`${key}_sum`, values.reduce((a, b) => a + b, 0), golden[key + '_sum'], tolerance);
  near(`${key}_abs_sum`, values.reduce((a, b) => a + Math.abs(b), 0), golden[key + '_abs_sum'], tolerance);
}

const PARAMETERS = {
  default: {},
  'thr0.3': { threshold: 0.3 },
  sil500_pad100: { minSilenceDurationMs: 500, speechPadMs: 100 },
  max3s: { maxSpeechDurationS: 3 },
};

/** Events of the streaming iterator; only on an engine of this thread. */
export function eventsOf(engine, probabilities, options) {
  const iterator = engine.createVadIterator(options);
  const events = [];
  try {
    Array.from(probabilities).forEach((probability, frame) => {
      const event = iterator.add(probability);
      if (event) events.push({ frame, ...event });
    });
  } finally {
    iterator.destroy();
  }
  return events;
}

async function checkSegments(engine, clip, sampleRate, probabilities, problems) {
  const same = (what, found, expected) => {
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
      problems.push(`${clip.id}, ${what}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
    }
  };
  for (const [name, expected] of Object.entries(clip.segments)) {
    const options = { ...PARAMETERS[name], sampleRate };
    const segments = await engine.speechTimestamps(probabilities, { ...options, samples: clip.samples });
    same(name, segments.map(({ start, end }) => [start, end]), expected.timestamps);
    if (!expected.vad_iterator || !engine.createVadIterator) continue;
    same(`${name}, iterator`, eventsOf(engine, probabilities, options), expected.vad_iterator);
  }
}

/**
 * All clips of one model against the goldens: probabilities within 2e-5, states, segments and events. With reproducible
 * numerics also the bits that the native machine computed. Works on an Engine and on a WorkerEngine.
 */
export async function checkClips(engine, expectations, golden, { weights, numerics, isa, samplesOf }) {
  const version = golden.model.file.match(/v\d/)[0];
  const sampleRate = golden.sample_rate;
  const problems = [];
  let worst = 0;
  const vad = await engine.loadSileroVad({ weights, version, sampleRate, numerics, isa });
  const entry = expectations.index.silero.find((one) => one.version === version && one.sampleRate === sampleRate);
  for (const clip of golden.clips) {
    await vad.reset();
    const samples = await samplesOf(clip.id);
    await vad.step(samples.length < vad.windowSamples ? padded(samples, vad.windowSamples)
      : samples.subarray(0, vad.windowSamples));
    const first = await vad.state();
    checkState(`${clip.id}, first`, first.h, clip.state_after_first_frame, 'h', problems);
    checkState(`${clip.id}, first`, first.c, clip.state_after_first_frame, 'c', problems);
    await vad.reset();
    const probabilities = await probabilitiesOf(vad, samples);
    if (probabilities.length !== clip.probs.length) {
      problems.push(`${clip.id}: ${probabilities.length} windows, not ${clip.probs.length}`);
      continue;
    }
    for (let i = 0; i < probabilities.length; i++) worst = Math.max(worst, Math.abs(probabilities[i] - clip.probs[i]));
    const last = await vad.state();
    checkState(clip.id, last.h, clip.state_after_last_frame, 'h', problems);
    checkState(clip.id, last.c, clip.state_after_last_frame, 'c', problems);
    await checkSegments(engine, clip, sampleRate, probabilities, problems);
    if (numerics !== 'reproducible') continue;
    const bits = entry.clips[clip.id];
    for (const [name, found] of [['probabilities', probabilities], ['h', last.h], ['c', last.c]]) {
      if (!equalBytes(found, expectations.bytes(bits[name]))) problems.push(`${clip.id}: other bits in ${name}`);
    }
  }
  if (!(worst <= 2e-5)) problems.push(`${version} at ${sampleRate}: a probability differs by ${worst}`);
  const machine = isa ?? engine.capabilities.isa;
  if (vad.moduleBytes && !equalBytes(vad.moduleBytes(), expectations.bytes(entry.modules[`${machine}/${numerics}`]))) {
    problems.push('the module differs from that of the native emitter');
  }
  await vad.destroy();
  return { problems, worst };
}

function padded(samples, size) {
  const all = new Float32Array(size);
  all.set(samples);
  return all;
}
