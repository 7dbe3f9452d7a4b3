// Every tensor operation from JavaScript, against the same in plain float64 JavaScript.

const ARRAYS = { bool: Uint8Array, u8: Uint8Array, i32: Int32Array, i64: BigInt64Array, f32: Float32Array, f64: Float64Array };

/** Numbers that look random, from -2 to 2, in eighths: sums of products of them are exact in f32 or nearly so. */
function values(count, seed) {
  let state = seed * 2654435761 >>> 0;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state >>> 16) % 33 - 16) / 8;
  });
}

/** A tensor with its elements as numbers. */
function tensor(dtype, shape, seed, map = (value) => value) {
  const numbers = values(shape.reduce((a, b) => a * b, 1), seed).map(map);
  const data = ARRAYS[dtype].from(numbers, (value) => (dtype === 'i64' ? BigInt(value) : value));
  const at = (...index) => numbers[index.reduce((place, i, axis) => place * shape[axis] + i, 0)];
  return { dtype, shape, data, at };
}

/** Calls back with each index of a shape in row-major order. */
function forEachIndex(shape, visit) {
  const index = shape.map(() => 0);
  const count = shape.reduce((a, b) => a * b, 1);
  for (let n = 0; n < count; n++) {
    visit(index, n);
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
  }
}

const range = (n) => Array.from({ length: n }, (_, i) => i);
const sum = (list) => list.reduce((a, b) => a + b, 0);
const mirror = (i, n) => (i < 0 ? -i : i >= n ? 2 * n - 2 - i : i);
const roundEven = (v) => {
  const low = Math.floor(v);
  return v - low === 0.5 ? low + (low % 2 !== 0) : Math.round(v);
};
/** Maclaurin series: exact to float64 for the small arguments here. */
const erf = (v) => {
  let term = v;
  let total = v;
  for (let n = 1; n < 200; n++) {
    term *= (-v * v) / n;
    total += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * total;
};
const sigmoid = (v) => 1 / (1 + Math.exp(-v));
const int = (v) => Math.round(v * 8);
const positive = (v) => Math.abs(v) + 0.125;

const x = tensor('f32', [2, 3, 4], 1);
const y = tensor('f32', [3, 1], 2);
const p = tensor('f32', [2, 3, 4], 3, positive);
const n = tensor('i32', [2, 3, 4], 4, int);
const m = tensor('i32', [4], 5, int);
const bits = tensor('bool', [2, 3, 4], 6, (v) => (v > 0 ? 1 : 0));
const index = tensor('i32', [2, 2], 7, (v) => (v > 0 ? 2 : v < -1 ? 0 : 1));
const lengths = tensor('i32', [2], 8, (v) => (v > 0 ? 3 : 1));
const w = tensor('f32', [5, 4], 9);
const b5 = tensor('f32', [5], 10);
const b4 = tensor('f32', [4], 11);
const p3 = tensor('f32', [3], 12, positive);
const b3 = tensor('f32', [3], 13);
const k = tensor('f32', [5, 3, 3], 14);
const image = tensor('f32', [1, 2, 5, 4], 15);
const k2 = tensor('f32', [4, 1, 3, 2], 16);

const shape3 = [2, 3, 4];
const maxOf = (list) => Math.max(...list);
const reduce = (axis, f) => (...kept) =>
  f(range(shape3[axis]).map((i) => x.at(...kept.slice(0, axis), i, ...kept.slice(axis))));
const truncate = (v) => (v < 0 ? Math.ceil(v) : Math.floor(v));

/** name, inputs, build, dtype, shape, element of the result. */
const movement = [
  ['reshape', { x }, (t) => t.x.reshape([4, -1]), 'f32', [4, 6], (i, j) => x.at(0, 0, i * 6 + j)],
  ['permute', { x }, (t) => t.x.permute([2, 0, 1]), 'f32', [4, 2, 3], (i, j, l) => x.at(j, l, i)],
  ['transpose', { x }, (t) => t.x.transpose(0, -1), 'f32', [4, 3, 2], (i, j, l) => x.at(l, j, i)],
  ['unsqueeze', { x }, (t) => t.x.unsqueeze(1), 'f32', [2, 1, 3, 4], (i, _, j, l) => x.at(i, j, l)],
  ['squeeze', { y }, (t) => t.y.squeeze(-1), 'f32', [3], (i) => y.at(i, 0)],
  ['flatten', { x }, (t) => t.x.flatten(1), 'f32', [2, 12], (i, j) => x.at(i, 0, j)],
  ['expand', { y }, (t) => t.y.expand([2, 3, 2]), 'f32', [2, 3, 2], (_, j) => y.at(j, 0)],
  ['pad', { x }, (t) => t.x.pad([[0, 0], [1, 2], [0, 1]], 7.5), 'f32', [2, 6, 5],
    (i, j, l) => (j < 1 || j > 3 || l > 3 ? 7.5 : x.at(i, j - 1, l))],
  ['reflectPad', { x }, (t) => t.x.reflectPad([[0, 0], [0, 0], [2, 3]]), 'f32', [2, 3, 9],
    (i, j, l) => x.at(i, j, mirror(l - 2, 4))],
  ['shrink', { x }, (t) => t.x.shrink([[0, 2], [1, 3], [1, 2]]), 'f32', [2, 2, 1], (i, j, l) => x.at(i, j + 1, l + 1)],
  ['slice', { x }, (t) => t.x.slice(2, 1), 'f32', [2, 3, 3], (i, j, l) => x.at(i, j, l + 1)],
  ['slice', { x }, (t) => t.x.slice(-1, 0, -1, 2), 'f32', [2, 3, 2], (i, j, l) => x.at(i, j, 2 * l)],
  ['flip', { x }, (t) => t.x.flip([0, 2]), 'f32', shape3, (i, j, l) => x.at(1 - i, j, 3 - l)],
  ['window', { x }, (t) => t.x.window(2, 2, 2), 'f32', [2, 3, 2, 2], (i, j, l, o) => x.at(i, j, 2 * l + o)],
  ['split', { x }, (t) => t.x.split(2, [1, 3])[1], 'f32', [2, 3, 3], (i, j, l) => x.at(i, j, l + 1)],
  ['chunk', { x }, (t) => t.x.chunk(2, 2)[1], 'f32', [2, 3, 2], (i, j, l) => x.at(i, j, l + 2)],
  ['gather', { x, index }, (t) => t.x.gather(1, t.index), 'f32', [2, 2, 2, 4], (i, a, b, l) => x.at(i, index.at(a, b), l)],
  ['embedding', { w, index }, (t) => t.index.embedding(t.w), 'f32', [2, 2, 4], (a, b, l) => w.at(index.at(a, b), l)],
  ['limit', { x, lengths }, (t) => t.x.limit(2, t.lengths, -1), 'f32', shape3,
    (i, j, l) => (l < lengths.at(i) ? x.at(i, j, l) : -1)],
  ['cast', { x }, (t) => t.x.cast('i32'), 'i32', shape3, (...i) => truncate(x.at(...i))],
  ['bitcast', { n }, (t) => t.n.bitcast('f32').bitcast('i32'), 'i32', shape3, (...i) => n.at(...i)],
  ['full', { m }, (t, ops) => ops.full([4], 3n, 'i64').add(t.m.cast('i64')), 'i64', [4], (i) => 3 + m.at(i)],
  ['zeros', { x }, (t, ops) => t.x.add(ops.zeros([4])), 'f32', shape3, x.at],
  ['arange', { x }, (t, ops) => ops.arange(4, 'f32').add(t.x), 'f32', shape3, (i, j, l) => x.at(i, j, l) + l],
  ['sizeTensor', { x }, (t, ops) => ops.sizeTensor(t.x.dim(-1).mul(5), 'f32').add(t.x), 'f32', shape3,
    (...i) => x.at(...i) + 20],
  ['constant', { x }, (t, ops) => t.x.mul(ops.constant([1, 2, 3, 4])), 'f32', shape3, (i, j, l) => x.at(i, j, l) * (l + 1)],
  ['concat', { x, p }, (t, ops) => ops.concat([t.x, t.p], 1), 'f32', [2, 6, 4],
    (i, j, l) => (j < 3 ? x.at(i, j, l) : p.at(i, j - 3, l))],
  ['stack', { x, p }, (t, ops) => ops.stack([t.x, t.p], 0), 'f32', [2, 2, 3, 4], (s, ...i) => (s ? p : x).at(...i)],
  ['where', { bits, x }, (t) => t.bits.where(t.x, 0.5), 'f32', shape3, (...i) => (bits.at(...i) ? x.at(...i) : 0.5)],
  ['where', { bits, x }, (t, ops) => ops.where(t.bits, 0.5, t.x), 'f32', shape3, (...i) => (bits.at(...i) ? 0.5 : x.at(...i))],
];

const reductions = [
  ['sum', { x }, (t) => t.x.sum([1]), 'f32', [2, 4], reduce(1, sum)],
  ['prod', { x }, (t) => t.x.prod([1]), 'f32', [2, 4], reduce(1, (list) => list.reduce((a, b) => a * b, 1))],
  ['max', { x }, (t) => t.x.max(-1), 'f32', [2, 3], reduce(2, maxOf)],
  ['min', { x }, (t) => t.x.min([2], true), 'f32', [2, 3, 1], (i, j) => Math.min(...range(4).map((l) => x.at(i, j, l)))],
  ['mean', { x }, (t) => t.x.mean(), 'f32', [], () => sum(range(24).map((i) => x.at(0, 0, i))) / 24],
  ['var', { x }, (t) => t.x.var([2], false, 1), 'f32', [2, 3],
    reduce(2, (list) => sum(list.map((v) => (v - sum(list) / 4) ** 2)) / 3)],
  ['any', { bits }, (t) => t.bits.any([1]), 'bool', [2, 4], (i, l) => Number(range(3).some((j) => bits.at(i, j, l)))],
  ['all', { bits }, (t) => t.bits.all([1]), 'bool', [2, 4], (i, l) => Number(range(3).every((j) => bits.at(i, j, l)))],
  ['argmax', { x }, (t) => t.x.argmax(2), 'i64', [2, 3], reduce(2, (list) => list.indexOf(maxOf(list)))],
  ['cumsum', { x }, (t) => t.x.cumsum(2), 'f32', shape3, (i, j, l) => sum(range(l + 1).map((o) => x.at(i, j, o)))],
];

/** As methods of tensors that broadcast, with a number on the right, and as functions with a number on the left. */
const binary = [
  ['add', 'f32', (a, b) => a + b], ['sub', 'f32', (a, b) => a - b], ['mul', 'f32', (a, b) => a * b],
  ['minimum', 'f32', Math.min], ['maximum', 'f32', Math.max],
  ['less', 'bool', (a, b) => Number(a < b)], ['lessEqual', 'bool', (a, b) => Number(a <= b)],
  ['equal', 'bool', (a, b) => Number(a === b)], ['notEqual', 'bool', (a, b) => Number(a !== b)],
  ['greater', 'bool', (a, b) => Number(a > b)], ['greaterEqual', 'bool', (a, b) => Number(a >= b)],
].flatMap(([name, dtype, f]) => [
  [name, { x, y }, (t) => t.x[name](t.y), dtype, shape3, (i, j, l) => f(x.at(i, j, l), y.at(j, 0))],
  [name, { x }, (t) => t.x[name](0.5), dtype, shape3, (...i) => f(x.at(...i), 0.5)],
  [name, { x }, (t, ops) => ops[name](0.5, t.x), dtype, shape3, (...i) => f(0.5, x.at(...i))],
]);
binary.push(
  ['div', { x, p }, (t) => t.x.div(t.p), 'f32', shape3, (...i) => x.at(...i) / p.at(...i)],
  ['div', { n }, (t, ops) => ops.div(100, t.n), 'i32', shape3, (...i) => (n.at(...i) ? truncate(100 / n.at(...i)) : 0)],
  ['mod', { n }, (t) => t.n.mod(5), 'i32', shape3, (...i) => n.at(...i) % 5],
  ['pow', { x, p }, (t) => t.p.pow(t.x), 'f32', shape3, (...i) => p.at(...i) ** x.at(...i)],
  ['bitwiseAnd', { n, m }, (t) => t.n.bitwiseAnd(t.m), 'i32', shape3, (i, j, l) => n.at(i, j, l) & m.at(l)],
  ['bitwiseOr', { n, m }, (t) => t.n.bitwiseOr(t.m), 'i32', shape3, (i, j, l) => n.at(i, j, l) | m.at(l)],
  ['bitwiseXor', { n, m }, (t) => t.n.bitwiseXor(t.m), 'i32', shape3, (i, j, l) => n.at(i, j, l) ^ m.at(l)],
  ['shiftLeft', { n }, (t) => t.n.shiftLeft(3), 'i32', shape3, (...i) => n.at(...i) << 3],
  ['shiftRight', { n }, (t) => t.n.shiftRight(1), 'i32', shape3, (...i) => n.at(...i) >> 1],
);

const unary = [
  ['neg', x, (v) => -v], ['abs', x, Math.abs], ['sqrt', p, Math.sqrt], ['exp', x, Math.exp], ['log', p, Math.log],
  ['sin', x, Math.sin], ['cos', x, Math.cos], ['tanh', x, Math.tanh], ['sigmoid', x, sigmoid], ['erf', x, erf],
  ['floor', x, Math.floor], ['ceil', x, Math.ceil], ['trunc', x, truncate], ['round', x, roundEven],
  ['relu', x, (v) => Math.max(v, 0)], ['silu', x, (v) => v * sigmoid(v)],
  ['gelu', x, (v) => (v / 2) * (1 + erf(v / Math.SQRT2))], ['softplus', x, (v) => Math.log1p(Math.exp(v))],
].map(([name, a, f]) => [name, { a }, (t) => t.a[name](), 'f32', shape3, (...i) => f(a.at(...i))]);
unary.push(
  ['logicalNot', { bits }, (t) => t.bits.logicalNot(), 'bool', shape3, (...i) => 1 - bits.at(...i)],
  ['leakyRelu', { x }, (t) => t.x.leakyRelu(0.25), 'f32', shape3, (...i) => Math.max(x.at(...i), 0.25 * x.at(...i))],
  ['elu', { x }, (t) => t.x.elu(2), 'f32', shape3, (...i) => (x.at(...i) > 0 ? x.at(...i) : 2 * Math.expm1(x.at(...i)))],
);

const normal = (list, l, eps) => {
  const mean = sum(list) / list.length;
  return (list[l] - mean) / Math.sqrt(sum(list.map((v) => (v - mean) ** 2)) / list.length + eps);
};
const soft = (list, l) => Math.exp(list[l]) / sum(list.map(Math.exp));
const rows = (i, j) => range(4).map((l) => x.at(i, j, l));
const lstm = {
  x: tensor('f32', [1, 3], 20), h: tensor('f32', [1, 2], 21), c: tensor('f32', [1, 2], 22), wIh: tensor('f32', [8, 3], 23),
  wHh: tensor('f32', [8, 2], 24), bIh: tensor('f32', [8], 25), bHh: tensor('f32', [8], 26),
};
const gate = (row) => sum(range(3).map((i) => lstm.wIh.at(row, i) * lstm.x.at(0, i))) +
  sum(range(2).map((i) => lstm.wHh.at(row, i) * lstm.h.at(0, i))) + lstm.bIh.at(row) + lstm.bHh.at(row);
const cell = (i) => sigmoid(gate(2 + i)) * lstm.c.at(0, i) + sigmoid(gate(i)) * Math.tanh(gate(4 + i));

const layers = [
  ['matmul', { x, w }, (t) => t.x.matmul(t.w.transpose(0, 1)), 'f32', [2, 3, 5],
    (i, j, o) => sum(range(4).map((l) => x.at(i, j, l) * w.at(o, l)))],
  ['linear', { x, w, b5 }, (t) => t.x.linear(t.w, t.b5), 'f32', [2, 3, 5],
    (i, j, o) => sum(range(4).map((l) => x.at(i, j, l) * w.at(o, l))) + b5.at(o)],
  ['conv1d', { x, k, b5 }, (t) => t.x.conv1d(t.k, t.b5, { stride: 2, padding: 1 }), 'f32', [2, 5, 2],
    (i, o, s) => b5.at(o) + sum(range(3).flatMap((c) => range(3).map((q) => {
      const place = 2 * s + q - 1;
      return place < 0 || place > 3 ? 0 : k.at(o, c, q) * x.at(i, c, place);
    })))],
  ['conv2d', { image, k2 }, (t) => t.image.conv2d(t.k2, undefined, { stride: [2, 1], groups: 2 }), 'f32', [1, 4, 2, 3],
    (_, o, r, s) => sum(range(3).flatMap((q) => range(2).map((u) =>
      k2.at(o, 0, q, u) * image.at(0, o >> 1, 2 * r + q, s + u))))],
  ['softmax', { x }, (t) => t.x.softmax(2), 'f32', shape3, (i, j, l) => soft(rows(i, j), l)],
  ['softmax', { x, lengths }, (t) => t.x.softmax(2, t.lengths), 'f32', shape3,
    (i, j, l) => (l < lengths.at(i) ? soft(rows(i, j).slice(0, lengths.at(i)), l) : 0)],
  ['logSoftmax', { x }, (t) => t.x.logSoftmax(-1), 'f32', shape3, (i, j, l) => Math.log(soft(rows(i, j), l))],
  ['layerNorm', { x, p: tensor('f32', [4], 17, positive), b4 }, (t) => t.x.layerNorm(t.p, t.b4), 'f32', shape3,
    (i, j, l) => normal(rows(i, j), l, 1e-5) * tensor('f32', [4], 17, positive).at(l) + b4.at(l)],
  ['batchNorm', { x, p3, b3 }, (t) => t.x.batchNorm(t.b3, t.p3, t.p3, t.b3, 1e-3), 'f32', shape3,
    (i, j, l) => ((x.at(i, j, l) - b3.at(j)) / Math.sqrt(p3.at(j) + 1e-3)) * p3.at(j) + b3.at(j)],
  ['glu', { x }, (t) => t.x.glu(2), 'f32', [2, 3, 2], (i, j, l) => x.at(i, j, l) * sigmoid(x.at(i, j, l + 2))],
  ['lstmCell', lstm, (t) => t.x.lstmCell(t.h, t.c, t.wIh, t.wHh, t.bIh, t.bHh).h, 'f32', [1, 2],
    (_, i) => sigmoid(gate(6 + i)) * Math.tanh(cell(i))],
  ['lstmCell', lstm, (t) => t.x.lstmCell(t.h, t.c, t.wIh, t.wHh, t.bIh, t.bHh).c, 'f32', [1, 2], (_, i) => cell(i)],
];

export const operationCases = [...movement, ...reductions, ...binary, ...unary, ...layers];

/** Sentences about what is wrong; the largest error relative to 1 or to the value. */
export function checkOperations(engine, numerics) {
  const problems = [];
  let worst = 0;
  for (const [name, inputs, build, dtype, shape, element] of operationCases) {
    const jit = engine.jit({ name, inputs, outputs: { y: dtype }, build: (t, ops) => ({ y: build(t, ops) }) });
    try {
      jit.prepare({}, { numerics });
      for (const [input, { data }] of Object.entries(inputs)) jit.input(input).copyFrom(data);
      jit.execute();
      const output = jit.output('y');
      if (output.shape.join() !== shape.join()) problems.push(`${name}: shape [${output.shape}], not [${shape}]`);
      forEachIndex(shape, (place, i) => {
        const wanted = element(...place);
        const error = Math.abs(Number(output.data[i]) - wanted) / Math.max(1, Math.abs(wanted));
        worst = Math.max(worst, error);
        if (!(error <= (dtype === 'f32' ? 2e-6 : 0))) problems.push(`${name} at [${place}]: ${output.data[i]}, not ${wanted}`);
      });
    } catch (error) {
      problems.push(`${name}: ${error.code ?? error.name}: ${error.message}`);
    }
    jit.destroy();
  }
  return { problems: problems.slice(0, 20), worst, count: operationCases.length };
}
