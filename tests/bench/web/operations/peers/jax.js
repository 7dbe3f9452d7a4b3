// The operations in jax-js with its WebAssembly backend. Without SharedArrayBuffer it runs kernels on the page's thread.
import { blockUntilReady, defaultDevice, init, jit, lax, nn, numpy as np } from '/packages/@jax-js/jax/dist/index.js';

function layerNorm(x, scale, shift) {
  const mean = np.mean(x.ref, -1, { keepdims: true });
  const centred = x.sub(mean);
  const variance = np.mean(np.square(centred.ref), -1, { keepdims: true });
  return centred.div(np.sqrt(variance.add(1e-5))).mul(scale).add(shift);
}

const operations = {
  product: ({ x, w }) => np.matmul(x, w),
  convolution: ({ x, w, b }, { stride, padding }) =>
    lax.convGeneralDilated(x, w, [stride], [[padding, padding]]).add(b.reshape([-1, 1])),
  softmax: ({ x }) => nn.softmax(x, -1),
  layerNorm: ({ x, scale, shift }) => layerNorm(x, scale, shift),
  lstm: ({ x, h, c, wIh, wHh, b }) => {
    const gates = np.matmul(x, wIh.transpose()).add(np.matmul(h, wHh.transpose())).add(b);
    const [i, f, g, o] = np.split(gates, 4, 1);
    const next = nn.sigmoid(f).mul(c).add(nn.sigmoid(i).mul(np.tanh(g)));
    return [nn.sigmoid(o).mul(np.tanh(next.ref)), next];
  },
  attention: ({ q, k, v }, { scale }) => np.matmul(nn.softmax(np.matmul(q, k.transpose([0, 2, 1])).mul(scale), -1), v),
  feedForward: ({ x, scale, shift, w1, b1, w2, b2 }) => {
    const inner = np.matmul(layerNorm(x.ref, scale, shift), w1).add(b1);
    return np.matmul(nn.silu(inner), w2).add(b2).add(x);
  },
};

export async function open() {
  await init('wasm');
  defaultDevice('wasm');
  const make = (test) => {
    const values = Object.entries({ ...test.inputs, ...test.weights }).map(([name, { values: numbers, shape }]) =>
      [name, np.array(numbers, { shape })]);
    const call = jit((arrays) => operations[test.kind](arrays, test));
    let results = [];
    return {
      run: async () => {
        for (const result of results) result.dispose();
        // A call takes its arguments over; .ref keeps them.
        results = [call(Object.fromEntries(values.map(([name, array]) => [name, array.ref])))].flat();
        await blockUntilReady(results);
      },
      read: () => results[0].ref.dataSync(),
      close: () => { for (const [, array] of values) array.dispose(); },
    };
  };
  return { name: 'jax-js 0.1.25', make, close() {} };
}
