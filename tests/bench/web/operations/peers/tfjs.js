// The operations in TensorFlow.js with its WebAssembly backend, one thread, through the `tf` that its scripts define.

async function script(url) {
  const element = document.createElement('script');
  element.src = url;
  await new Promise((resolve, reject) => {
    element.onload = resolve;
    element.onerror = () => reject(new Error(`${url} cannot be loaded`));
    document.head.append(element);
  });
}

function layerNorm(tf, x, scale, shift) {
  const { mean, variance } = tf.moments(x, -1, true);
  const normed = tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5)));
  return tf.add(tf.mul(normed, scale), shift);
}

const operations = {
  product: (tf, { x }, { w }) => tf.matMul(x, w),
  // Frames first, channels last: its own layout, which the data is brought into before the measurement.
  convolution: (tf, { x }, { w, b }, { stride, padding }) =>
    tf.fused.conv2d({ x, filter: w, strides: [1, stride], pad: [[0, 0], [0, 0], [padding, padding], [0, 0]], bias: b }),
  softmax: (tf, { x }) => tf.softmax(x),
  layerNorm: (tf, { x }, { scale, shift }) => layerNorm(tf, x, scale, shift),
  lstm: (tf, { x, h, c }, { w, b }) => {
    const [i, f, g, o] = tf.split(tf.fused.matMul({ a: tf.concat([x, h], 1), b: w, bias: b }), 4, 1);
    const next = tf.add(tf.mul(tf.sigmoid(f), c), tf.mul(tf.sigmoid(i), tf.tanh(g)));
    return [tf.mul(tf.sigmoid(o), tf.tanh(next)), next];
  },
  attention: (tf, { q, k, v }, weights, { scale }) =>
    tf.matMul(tf.softmax(tf.mul(tf.matMul(q, k, false, true), scale)), v),
  feedForward: (tf, { x }, { scale, shift, w1, b1, w2, b2 }) => {
    const inner = tf.fused.matMul({ a: layerNorm(tf, x, scale, shift), b: w1, bias: b1 });
    return tf.add(tf.fused.matMul({ a: tf.mul(inner, tf.sigmoid(inner)), b: w2, bias: b2 }), x);
  },
};

function arranged(tf, test) {
  const tensors = (group) => Object.fromEntries(Object.entries(group).map(([name, { values, shape }]) =>
    [name, tf.tensor(values, shape)]));
  const inputs = tensors(test.inputs);
  const weights = tensors(test.weights);
  if (test.kind === 'convolution') {
    inputs.x = tf.expandDims(tf.transpose(inputs.x, [0, 2, 1]), 1);
    weights.w = tf.expandDims(tf.transpose(weights.w, [2, 1, 0]), 0);
  }
  if (test.kind === 'lstm') weights.w = tf.transpose(tf.concat([weights.wIh, weights.wHh], 1));
  return { inputs, weights };
}

export async function open() {
  await script('/packages/@tensorflow/tfjs-core/dist/tf-core.es2017.min.js');
  await script('/packages/@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.es2017.min.js');
  const { tf } = globalThis;
  tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  tf.wasm.setWasmPaths('/packages/@tensorflow/tfjs-backend-wasm/dist/');
  await tf.setBackend('wasm');
  await tf.ready();
  const make = (test) => {
    const { inputs, weights } = arranged(tf, test);
    let results = [];
    return {
      run: () => {
        for (const result of results) result.dispose();
        results = [tf.tidy(() => operations[test.kind](tf, inputs, weights, test))].flat();
      },
      read: () => {
        const result = results[0];
        return (test.kind === 'convolution' ? tf.transpose(tf.squeeze(result, [1]), [0, 2, 1]) : result).dataSync();
      },
      close: () => tf.dispose([inputs, weights, results]),
    };
  };
  return { name: `tfjs wasm ${tf.version_core}`, make, close() {} };
}
