// The operations as graphs of this engine.
import { createEngine, f32 } from '/tandem/index.js';

const builders = {
  product: ({ x }, { w }) => x.matmul(w),
  convolution: ({ x }, { w, b }, { stride, padding }) => x.conv1d(w, b, { stride, padding }),
  softmax: ({ x }) => x.softmax(-1),
  layerNorm: ({ x }, { scale, shift }) => x.layerNorm(scale, shift),
  lstm: ({ x, h, c }, { wIh, wHh, b }) => {
    const next = x.lstmCell(h, c, wIh, wHh, b);
    return { h: next.h, c: next.c };
  },
  attention: ({ q, k, v }, weights, { scale }) => q.matmul(k.transpose(1, 2)).mul(scale).softmax(-1).matmul(v),
  feedForward: ({ x }, { scale, shift, w1, b1, w2, b2 }) =>
    x.layerNorm(scale, shift).matmul(w1).add(b1).silu().matmul(w2).add(b2).add(x),
};

/** One engine for all cases. Each is `{run, read}`: a call with inputs and outputs inside, and a copy of the first output. */
export async function open() {
  const engine = await createEngine();
  const make = (test) => {
    const graph = engine.jit({
      name: test.kind,
      inputs: Object.fromEntries(Object.entries(test.inputs).map(([name, { shape }]) => [name, f32(shape)])),
      build: (inputs, { constant }) => {
        const weights = Object.entries(test.weights).map(([name, { values, shape }]) => [name, constant(values, shape)]);
        return builders[test.kind](inputs, Object.fromEntries(weights), test);
      },
    }).prepare();
    for (const [name, { values }] of Object.entries(test.inputs)) graph.input(name).copyFrom(values);
    return {
      run: () => graph.execute(),
      read: () => (test.kind === 'lstm' ? graph.output('h') : graph.output()).data.slice(),
      close: () => graph.destroy(),
    };
  };
  return { name: `tandem (${engine.capabilities.isa})`, make, close: () => engine.destroy() };
}
