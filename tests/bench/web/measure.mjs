// Time of one Silero step, this engine and onnxruntime-web side by side; in Node.js and on a page.

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

/** Steps of onnxruntime-web as its users write them: the context is kept outside, the state goes in and out. */
async function makePeer(ort, weights) {
  const session = await ort.InferenceSession.create(weights, { executionProviders: ['wasm'] });
  const sr = new ort.Tensor('int64', BigInt64Array.of(16000n), []);
  const chunk = new Float32Array(576);
  let state = new ort.Tensor('float32', new Float32Array(256), [2, 1, 128]);
  return async (samples) => {
    chunk.copyWithin(0, 512);
    chunk.set(samples, 64);
    const input = new ort.Tensor('float32', chunk, [1, 576]);
    const { output, stateN } = await session.run({ input, state, sr });
    state = stateN;
    return output.data[0];
  };
}

/**
 * Microseconds per step of each competitor: medians over repetitions that take turns, so that a slow moment of the
 * machine meets all of them. `clock`: gives milliseconds, or a promise of them.
 */
export async function measure({ createEngine, ort, weights, clock = () => performance.now(), repetitions = 21, steps = 200 }) {
  const engine = await createEngine();
  const competitors = {};
  const prepareMs = {};
  for (const numerics of ['fast', 'reproducible']) {
    const vad = await engine.loadSileroVad({ weights, numerics });
    prepareMs[numerics] = vad.timings.prepareMs;
    competitors[numerics] = (samples) => vad.step(samples);
  }
  const began = performance.now();
  competitors['onnxruntime-web'] = await makePeer(ort, weights);
  prepareMs['onnxruntime-web'] = performance.now() - began;
  const times = Object.fromEntries(Object.keys(competitors).map((name) => [name, []]));
  const samples = Float32Array.from({ length: 512 }, (_, i) => 0.1 * Math.sin(i * 0.3));
  const differences = [];
  for (let i = 0; i < 20; i++) {
    differences.push(Math.abs(competitors.fast(samples) - (await competitors['onnxruntime-web'](samples))));
  }
  // The first repetition warms up.
  for (let repetition = 0; repetition <= repetitions; repetition++) {
    for (const [name, step] of Object.entries(competitors)) {
      const start = await clock();
      if (name === 'onnxruntime-web') for (let i = 0; i < steps; i++) await step(samples);
      else for (let i = 0; i < steps; i++) step(samples);
      const milliseconds = (await clock()) - start;
      if (repetition > 0) times[name].push((1000 * milliseconds) / steps);
    }
  }
  engine.destroy();
  return {
    isa: engine.capabilities.isa,
    microseconds: Object.fromEntries(Object.entries(times).map(([name, list]) => [name, median(list)])),
    prepareMs,
    largestDifference: Math.max(...differences),
  };
}
