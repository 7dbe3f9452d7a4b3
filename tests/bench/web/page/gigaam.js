// GigaAM in this engine and in onnxruntime-web: the same weights and log-mel, in turns.
import * as ort from '/ort/ort.wasm.min.mjs';
import { createEngine } from '/tandem/index.js';

ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = '/ort/';
ort.env.logLevel = 'error';

/** Seconds of sound in one mel frame. */
const FRAME_SECONDS = 0.01;

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Milliseconds of this thread. */
async function timed(work) {
  const began = await window.threadMilliseconds();
  const result = await work();
  return { result, milliseconds: (await window.threadMilliseconds()) - began };
}

async function makePeer(mel, features, frames) {
  const session = await ort.InferenceSession.create('/model/gigaam.onnx', {
    executionProviders: ['wasm'],
    externalData: [{ path: 'gigaam.onnx.data', data: '/model/gigaam.onnx.data' }],
  });
  const feeds = {
    features: new ort.Tensor('float32', mel, [1, features, frames]),
    feature_lengths: new ort.Tensor('int64', BigInt64Array.of(BigInt(frames)), [1]),
  };
  return async () => (await session.run(feeds)).log_probs.data;
}

window.measure = async ({ layers, frames, rounds }) => {
  const engine = await createEngine();
  const ours = await timed(() => engine.loadGigaAM({
    weights: '/model/gigaam.safetensors',
    vocabulary: Array.from({ length: 33 }, (_, i) => String.fromCharCode(0x430 + i)),
    maxSeconds: Math.ceil(frames * FRAME_SECONDS),
  }));
  const gigaam = ours.result;
  const mel = Float32Array.from({ length: gigaam.features * frames },
    (_, i) => -8 + 4 * Math.sin(i * 0.7311) + 2 * Math.cos(i * 0.0137));
  const peer = await timed(() => makePeer(mel, gigaam.features, frames));
  const contenders = {
    tandem: () => gigaam.recognizeMel(mel, Int32Array.of(frames)).scores,
    'onnxruntime-web': peer.result,
  };
  const names = Object.keys(contenders);
  const times = Object.fromEntries(names.map((name) => [name, []]));
  const scores = {};
  // The first rounds warm up.
  for (let round = -2; round < rounds; round++) {
    for (const name of round % 2 ? names : names.toReversed()) {
      const { result, milliseconds } = await timed(contenders[name]);
      scores[name] = result;
      if (round >= 0) times[name].push(milliseconds);
    }
  }
  const expected = scores['onnxruntime-web'];
  const difference = scores.tandem.length === expected.length
    ? scores.tandem.reduce((most, value, i) => Math.max(most, Math.abs(value - expected[i])), 0) : Infinity;
  const { isa } = engine.capabilities;
  engine.destroy();
  return {
    isa, layers, frames, difference,
    times: Object.fromEntries(names.map((name) => [name, { median: median(times[name]), fastest: Math.min(...times[name]) }])),
    prepareMs: { tandem: ours.milliseconds, 'onnxruntime-web': peer.milliseconds },
  };
};
