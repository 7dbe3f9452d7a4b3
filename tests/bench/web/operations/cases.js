// The operations that are timed: sizes of speech models, and neighbours of them that are no multiple of a tile.

/** @typedef {{shape: number[], values: Float32Array}} Values */

/** Numbers in [-0.5, 0.5) * scale that are the same on every machine. */
function random(seed, shape, scale = 1) {
  const values = new Float32Array(shape.reduce((a, b) => a * b, 1));
  let state = seed >>> 0;
  for (let i = 0; i < values.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[i] = scale * ((state >>> 8) / 2 ** 24 - 0.5);
  }
  return { shape, values };
}

/** `weights` are constants of the graph, `inputs` come with each call. Outputs are those of the field of `kind`. */
function productCase(name, m, k, n) {
  return {
    name, kind: 'product', flops: 2 * m * k * n,
    inputs: { x: random(1, [m, k]) }, weights: { w: random(2, [k, n], 2 / Math.sqrt(k)) },
  };
}

function convolutionCase(name, channels, outputs, frames, { size, stride, padding }) {
  const length = Math.floor((frames + 2 * padding - size) / stride) + 1;
  return {
    name, kind: 'convolution', flops: 2 * outputs * channels * size * length, size, stride, padding, length,
    inputs: { x: random(3, [1, channels, frames]) },
    weights: { w: random(4, [outputs, channels, size], 2 / Math.sqrt(channels * size)), b: random(5, [outputs]) },
  };
}

function feedForwardCase(rows, width, hidden) {
  return {
    name: `feed forward ${width}->${hidden}, ${rows} rows`, kind: 'feedForward', flops: 4 * rows * width * hidden,
    inputs: { x: random(6, [rows, width]) },
    weights: {
      scale: random(7, [width]), shift: random(8, [width]),
      w1: random(9, [width, hidden], 2 / Math.sqrt(width)), b1: random(10, [hidden]),
      w2: random(11, [hidden, width], 2 / Math.sqrt(hidden)), b2: random(12, [width]),
    },
  };
}

function attentionCase(heads, frames, width) {
  const shape = [heads, frames, width];
  return {
    name: `attention ${heads} heads, ${frames}x${width}`, kind: 'attention', flops: 4 * heads * frames * frames * width,
    inputs: { q: random(22, shape, 4), k: random(23, shape, 4), v: random(24, shape) }, weights: {},
    scale: 1 / Math.sqrt(width),
  };
}

export const cases = [
  productCase('GEMM 256x768x768', 256, 768, 768),
  productCase('GEMM 256x768x766', 256, 768, 766),
  productCase('GEMV 512x128', 1, 512, 128),
  productCase('GEMV 2048x2048', 1, 2048, 2048),
  convolutionCase('conv 129->128, 4 frames', 129, 128, 4, { size: 3, stride: 1, padding: 1 }),
  convolutionCase('conv 64->768, 570 frames', 64, 768, 570, { size: 5, stride: 2, padding: 2 }),
  { name: 'softmax 64x500', kind: 'softmax', flops: 0, inputs: { x: random(13, [64, 500], 8) }, weights: {} },
  {
    name: 'layer norm 143x768', kind: 'layerNorm', flops: 0, inputs: { x: random(14, [143, 768], 4) },
    weights: { scale: random(15, [768]), shift: random(16, [768]) },
  },
  {
    name: 'LSTM step 128->128', kind: 'lstm', flops: 2 * 512 * 256,
    inputs: { x: random(17, [1, 128]), h: random(18, [1, 128]), c: random(19, [1, 128]) },
    weights: { wIh: random(20, [512, 128], 0.2), wHh: random(21, [512, 128], 0.2), b: random(22, [512], 0.2) },
  },
  feedForwardCase(141, 768, 3072),
  feedForwardCase(143, 768, 3072),
  feedForwardCase(144, 768, 3072),
  attentionCase(16, 143, 48),
  attentionCase(16, 500, 48),
];

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

function product(x, w, m, k, n) {
  const y = new Float64Array(m * n);
  for (let i = 0; i < m; i++) {
    for (let p = 0; p < k; p++) {
      const a = x[i * k + p];
      for (let j = 0; j < n; j++) y[i * n + j] += a * w[p * n + j];
    }
  }
  return y;
}

function softmax(x, rows, width) {
  const y = new Float64Array(x.length);
  for (let i = 0; i < rows; i++) {
    const row = x.subarray(i * width, (i + 1) * width);
    const largest = Math.max(...row);
    let sum = 0;
    for (const value of row) sum += Math.exp(value - largest);
    row.forEach((value, j) => { y[i * width + j] = Math.exp(value - largest) / sum; });
  }
  return y;
}

function layerNorm(x, rows, width, scale, shift) {
  const y = new Float64Array(x.length);
  for (let i = 0; i < rows; i++) {
    let mean = 0;
    let variance = 0;
    for (let j = 0; j < width; j++) mean += x[i * width + j] / width;
    for (let j = 0; j < width; j++) variance += (x[i * width + j] - mean) ** 2 / width;
    for (let j = 0; j < width; j++) {
      y[i * width + j] = ((x[i * width + j] - mean) / Math.sqrt(variance + 1e-5)) * scale[j] + shift[j];
    }
  }
  return y;
}

const references = {
  product({ inputs: { x }, weights: { w } }) {
    return product(x.values, w.values, x.shape[0], x.shape[1], w.shape[1]);
  },
  convolution({ inputs: { x }, weights: { w, b }, size, stride, padding, length }) {
    const [, channels, frames] = x.shape;
    const y = new Float64Array(w.shape[0] * length);
    for (let o = 0; o < w.shape[0]; o++) {
      for (let t = 0; t < length; t++) {
        let sum = b.values[o];
        for (let c = 0; c < channels; c++) {
          for (let k = 0; k < size; k++) {
            const at = t * stride + k - padding;
            if (at >= 0 && at < frames) sum += x.values[c * frames + at] * w.values[(o * channels + c) * size + k];
          }
        }
        y[o * length + t] = sum;
      }
    }
    return y;
  },
  softmax({ inputs: { x } }) {
    return softmax(x.values, ...x.shape);
  },
  attention({ inputs: { q, k, v }, scale }) {
    const [heads, frames, width] = q.shape;
    const y = new Float64Array(q.values.length);
    for (let head = 0; head < heads; head++) {
      const part = ({ values }) => values.subarray(head * frames * width, (head + 1) * frames * width);
      const turned = Float64Array.from({ length: frames * width },
        (_, i) => part(k)[(i % frames) * width + Math.floor(i / frames)]);
      const scores = product(part(q), turned, frames, width, frames).map((score) => score * scale);
      y.set(product(softmax(scores, frames, frames), part(v), frames, frames, width), head * frames * width);
    }
    return y;
  },
  layerNorm({ inputs: { x }, weights: { scale, shift } }) {
    return layerNorm(x.values, x.shape[0], x.shape[1], scale.values, shift.values);
  },
  /** The new h; gates i, f, g, o. */
  lstm({ inputs: { x, h, c }, weights: { wIh, wHh, b } }) {
    const gates = Float64Array.from(b.values);
    for (let i = 0; i < 512; i++) {
      for (let j = 0; j < 128; j++) gates[i] += wIh.values[i * 128 + j] * x.values[j] + wHh.values[i * 128 + j] * h.values[j];
    }
    return Float64Array.from({ length: 128 }, (_, j) => {
      const next = sigmoid(gates[128 + j]) * c.values[j] + sigmoid(gates[j]) * Math.tanh(gates[256 + j]);
      return sigmoid(gates[384 + j]) * Math.tanh(next);
    });
  },
  feedForward({ inputs: { x }, weights: { scale, shift, w1, b1, w2, b2 } }) {
    const [rows, width] = x.shape;
    const hidden = w1.shape[1];
    const inner = product(layerNorm(x.values, rows, width, scale.values, shift.values), w1.values, rows, width, hidden);
    for (let i = 0; i < inner.length; i++) {
      const value = inner[i] + b1.values[i % hidden];
      inner[i] = value * sigmoid(value);
    }
    const y = product(inner, w2.values, rows, hidden, width);
    for (let i = 0; i < y.length; i++) y[i] += b2.values[i % width] + x.values[i];
    return y;
  },
};

/** The result in float64, computed from the definition. */
export const reference = (test) => references[test.kind](test);
