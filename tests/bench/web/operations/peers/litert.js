// The operations in LiteRT (XNNPACK in WebAssembly), one thread. Rows before channels is its own layout of a convolution;
// data is brought into it before the measurement.
import { Tensor, loadAndCompile, loadLiteRt } from '/packages/@litertjs/core/dist/index.js';
import { TfliteModel } from './tflite_writer.js';

function transposed({ shape: [rows, columns], values }) {
  const out = new Float32Array(values.length);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) out[j * rows + i] = values[i * columns + j];
  return { shape: [columns, rows], values: out };
}

const constant = (model, { shape, values }) => model.tensor(shape, values);
const axes = (model, values) => model.tensor([values.length], Int32Array.from(values));

function layerNorm(model, x, [rows, width], { scale, shift }) {
  const call = (name, from, shape) => model.call(name, from, [shape]);
  const mean = call('mean', [x, axes(model, [1])], [rows, 1]);
  const squared = call('squaredDifference', [x, mean], [rows, width]);
  const variance = call('mean', [squared, axes(model, [1])], [rows, 1]);
  const epsilon = model.tensor([], Float32Array.of(1e-5));
  const inverse = call('rsqrt', [call('add', [variance, epsilon], [rows, 1])], [rows, 1]);
  const centred = call('mul', [call('sub', [x, mean], [rows, width]), inverse], [rows, width]);
  return call('add', [call('mul', [centred, constant(model, scale)], [rows, width]), constant(model, shift)], [rows, width]);
}

/** Each adds its operators and returns the outputs. */
const graphs = {
  product(model, { x }, { inputs, weights: { w } }) {
    return [model.call('fullyConnected', [x, constant(model, transposed(w)), -1], [[inputs.x.shape[0], w.shape[1]]])];
  },
  convolution(model, { x }, { inputs, weights: { w, b }, size, stride, padding, length }) {
    const [, frames, channels] = inputs.x.shape.with(1, inputs.x.shape[2]).with(2, inputs.x.shape[1]);
    const outputs = w.shape[0];
    const filter = new Float32Array(w.values.length);
    for (let o = 0; o < outputs; o++) {
      for (let c = 0; c < channels; c++) {
        for (let k = 0; k < size; k++) filter[(o * size + k) * channels + c] = w.values[(o * channels + c) * size + k];
      }
    }
    const amounts = model.tensor([4, 2], Int32Array.of(0, 0, 0, 0, padding, padding, 0, 0));
    const padded = model.call('pad', [x, amounts], [[1, 1, frames + 2 * padding, channels]]);
    return [model.call('convolution', [padded, model.tensor([outputs, 1, size, channels], filter), constant(model, b)],
      [[1, 1, length, outputs]], { stride })];
  },
  softmax: (model, { x }, { inputs }) => [model.call('softmax', [x], [inputs.x.shape])],
  layerNorm: (model, { x }, { inputs, weights }) => [layerNorm(model, x, inputs.x.shape, weights)],
  lstm(model, { x, h, c }, { weights: { wIh, wHh, b } }) {
    const both = new Float32Array(512 * 256);
    for (let i = 0; i < 512; i++) {
      both.set(wIh.values.subarray(i * 128, (i + 1) * 128), i * 256);
      both.set(wHh.values.subarray(i * 128, (i + 1) * 128), i * 256 + 128);
    }
    const call = (name, ...from) => model.call(name, from, [[1, 128]]);
    const row = model.call('concatenation', [x, h], [[1, 256]], { axis: 1 });
    const gates = model.call('fullyConnected', [row, model.tensor([512, 256], both), constant(model, b)], [[1, 512]]);
    const axis = model.tensor([], Int32Array.of(1));
    const [i, f, g, o] = model.call('split', [axis, gates], Array(4).fill([1, 128]), { count: 4 });
    const kept = call('mul', call('logistic', f), c);
    const next = call('add', kept, call('mul', call('logistic', i), call('tanh', g)));
    return [call('mul', call('logistic', o), call('tanh', next)), next];
  },
  attention(model, { q, k, v }, { inputs, scale }) {
    const [heads, frames, width] = inputs.q.shape;
    const square = [heads, frames, frames];
    const call = (name, from, shape, options) => model.call(name, from, [shape], options);
    const scores = call('batchMatmul', [q, k], square, { transposesSecond: true });
    const scaled = call('mul', [scores, model.tensor([], Float32Array.of(scale))], square);
    return [call('batchMatmul', [call('softmax', [scaled], square), v], [heads, frames, width])];
  },
  feedForward(model, { x }, { inputs, weights }) {
    const [rows, width] = inputs.x.shape;
    const hidden = weights.w1.shape[1];
    const norm = layerNorm(model, x, [rows, width], weights);
    const product = (from, w, b, columns) =>
      model.call('fullyConnected', [from, constant(model, transposed(w)), constant(model, b)], [[rows, columns]]);
    const inner = product(norm, weights.w1, weights.b1, hidden);
    const active = model.call('mul', [inner, model.call('logistic', [inner], [[rows, hidden]])], [[rows, hidden]]);
    return [model.call('add', [product(active, weights.w2, weights.b2, width), x], [[rows, width]])];
  },
};

/** Channels last, one row of frames. */
function arranged(test, { shape, values }) {
  if (test.kind !== 'convolution') return { shape, values };
  const { values: turned } = transposed({ shape: [shape[1], shape[2]], values });
  return { shape: [1, 1, shape[2], shape[1]], values: turned };
}

export async function open() {
  await loadLiteRt('/packages/@litertjs/core/wasm/');
  const make = async (test) => {
    const model = new TfliteModel();
    const inputs = Object.entries(test.inputs).map(([name, value]) => [name, arranged(test, value)]);
    const named = Object.fromEntries(inputs.map(([name, { shape }]) => [name, model.input(shape)]));
    const outputs = graphs[test.kind](model, named, test);
    const compiled = await loadAndCompile(model.finish(outputs), { accelerator: 'wasm' });
    const tensors = inputs.map(([, { shape, values }]) => new Tensor(values, shape));
    let results = [];
    return {
      run: async () => {
        for (const result of results) result.delete();
        results = await compiled.run(tensors);
      },
      read: () => {
        const values = results[0].toTypedArray();
        if (test.kind !== 'convolution') return values;
        return transposed({ shape: [test.length, test.weights.w.shape[0]], values }).values;
      },
      close: () => {
        for (const tensor of [...tensors, ...results]) tensor.delete();
        compiled.delete();
      },
    };
  };
  return { name: 'LiteRT 2.5.3', make, close() {} };
}
