// The operations in onnxruntime-web, one thread. It copies inputs in and outputs out at every call.
import * as ort from '/ort/ort.wasm.min.mjs';
import { onnxModel } from './onnx_writer.js';

/** The rows of PyTorch's gates i, f, g, o in ONNX's order i, o, f, c. */
function reordered(values, width) {
  const gate = 128 * width;
  const out = new Float32Array(values.length);
  [0, 3, 1, 2].forEach((from, to) => out.set(values.subarray(from * gate, (from + 1) * gate), to * gate));
  return out;
}

const graphs = {
  product: ({ weights }) => ({ nodes: [['MatMul', ['x', 'w'], ['y']]], weights }),
  convolution: ({ weights, stride, padding }) => ({
    nodes: [['Conv', ['x', 'w', 'b'], ['y'], { strides: [stride], pads: [padding, padding] }]], weights,
  }),
  softmax: () => ({ nodes: [['Softmax', ['x'], ['y'], { axis: 1 }]], weights: {} }),
  layerNorm: ({ weights }) => ({
    nodes: [['LayerNormalization', ['x', 'scale', 'shift'], ['y'], { axis: 1, epsilon: { float: 1e-5 } }]], weights,
  }),
  lstm: ({ weights: { wIh, wHh, b } }) => ({
    nodes: [['LSTM', ['x', 'wIh', 'wHh', 'b', '', 'h', 'c'], ['all', 'y', 'cell'], { hidden_size: 128 }]],
    weights: {
      wIh: { shape: [1, 512, 128], values: reordered(wIh.values, 128) },
      wHh: { shape: [1, 512, 128], values: reordered(wHh.values, 128) },
      b: { shape: [1, 1024], values: Float32Array.from([...reordered(b.values, 1), ...new Float32Array(512)]) },
    },
    shapes: { x: [1, 1, 128], h: [1, 1, 128], c: [1, 1, 128] },
    outputs: ['y', 'cell'],
  }),
  attention: ({ scale }) => ({
    nodes: [
      ['Transpose', ['k'], ['turned'], { perm: [0, 2, 1] }], ['MatMul', ['q', 'turned'], ['scores']],
      ['Mul', ['scores', 'scale'], ['scaled']], ['Softmax', ['scaled'], ['shares'], { axis: 2 }],
      ['MatMul', ['shares', 'v'], ['y']],
    ],
    weights: { scale: { shape: [1], values: Float32Array.of(scale) } },
  }),
  feedForward: ({ weights }) => ({
    nodes: [
      ['LayerNormalization', ['x', 'scale', 'shift'], ['norm'], { axis: 1, epsilon: { float: 1e-5 } }],
      ['MatMul', ['norm', 'w1'], ['p1']], ['Add', ['p1', 'b1'], ['a1']], ['Sigmoid', ['a1'], ['s']],
      ['Mul', ['a1', 's'], ['inner']], ['MatMul', ['inner', 'w2'], ['p2']], ['Add', ['p2', 'b2'], ['a2']],
      ['Add', ['a2', 'x'], ['y']],
    ],
    weights,
  }),
};

export async function open() {
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = '/ort/';
  ort.env.logLevel = 'error';
  const make = async (test) => {
    const { nodes, weights, shapes = {}, outputs = ['y'] } = graphs[test.kind](test);
    const inputs = Object.fromEntries(Object.entries(test.inputs).map(([name, { shape, values }]) =>
      [name, { shape: shapes[name] ?? shape, values }]));
    const session = await ort.InferenceSession.create(onnxModel({ nodes, inputs, weights, outputs }),
      { executionProviders: ['wasm'] });
    const feeds = Object.fromEntries(Object.entries(inputs).map(([name, { shape, values }]) =>
      [name, new ort.Tensor('float32', values, shape)]));
    let results;
    return {
      run: async () => { results = await session.run(feeds); },
      read: () => results.y.data,
      close: () => session.release(),
    };
  };
  return { name: `onnxruntime-web ${ort.env.versions.web}`, make, close() {} };
}
