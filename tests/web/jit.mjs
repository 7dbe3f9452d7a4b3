// Graphs that are declared in JavaScript: what must hold of a wrapper, wherever the package runs.

import { checkArrays, checkProfile } from './jit_arrays.mjs';

const f32 = (shape) => ({ dtype: 'f32', shape });

function makeNotes() {
  const problems = [];
  return {
    problems,
    same(what, found, wanted) {
      const [a, b] = [found, wanted].map((value) => (ArrayBuffer.isView(value) ? Array.from(value) : value).toString());
      if (a !== b) problems.push(`${what}: ${a}, not ${b}`);
    },
    /** The action throws a TandemError of this code whose message has all of these words. */
    refuses(what, code, words, action) {
      try {
        action();
        problems.push(`${what}: no error`);
      } catch (error) {
        const missing = words.filter((word) => !error.message.includes(word));
        if (error.name !== 'TandemError' || error.code !== code || missing.length) {
          problems.push(`${what}: ${error.name} ${error.code}: ${error.message}${missing.map((one) => `; without "${one}"`)}`);
        }
        return error;
      }
      return undefined;
    },
  };
}

/** Windows of 3 with a step of 2, summed: their number is derived from t. */
function windowSums(engine, extra = {}) {
  return engine.jit({
    name: 'sums', vars: { b: [1, 3], t: [3, 40] }, inputs: { x: f32(['b', 't']) },
    build: ({ x }) => ({ sums: x.window(1, 3, 2).sum([2]), last: x.argmax(1) }),
    ...extra,
  });
}

function checkVariables(engine, { problems, same }) {
  const jit = windowSums(engine).prepare();
  const { modules } = engine.counters();
  for (let b = 1; b <= 3; b++) {
    for (let t = 3; t <= 40; t++) {
      const x = Float32Array.from({ length: b * t }, (_, i) => ((i * 37) % 101) - 50);
      jit.input('x').copyFrom(x, [b, t]);
      jit.executeWithVars({ b, t });
      const count = ((t - 3) >> 1) + 1;
      const rows = Array.from({ length: b }, (_, i) => Array.from(x.subarray(i * t, (i + 1) * t)));
      same(`shape at ${b}, ${t}`, jit.output('sums').shape, [b, count]);
      same(`sums at ${b}, ${t}`, jit.output('sums').data,
        rows.flatMap((row) => Array.from({ length: count }, (_, i) => row[2 * i] + row[2 * i + 1] + row[2 * i + 2])));
      same(`last at ${b}, ${t}`, jit.output('last').as('i64'), rows.map((row) => row.indexOf(Math.max(...row))));
      if (problems.length > 5) return;
    }
  }
  jit.input('x').fill(1);
  jit.executeWithVars({ b: 2 });
  same('a variable without value', jit.output('sums').shape, [2, 19]);
  jit.execute();
  same('no values at all', jit.output().shape, [3, 19]);
  same('modules after many shapes', engine.counters().modules, modules);
  jit.destroy();
}

function checkDims(engine, { same, refuses }) {
  const seen = {};
  const jit = engine.jit({
    model: { longest: 30 }, vars: { t: [4, (model) => model.longest], 'a size': [2, 5] },
    inputs: { x: { dtype: 'f32', shape: ({ t }) => [t.mul(2).add(1)] }, later: null },
    build({ x, later, t, 'a size': odd }, { sizeTensor }, model) {
      seen.texts = [t, t.add(1), t.sub(1), t.mul(t), t.floorDiv(3), t.div(3), t.floorMod(4), t.ceilDiv(3), t.min(7), t.max(odd)];
      seen.bounds = [t.lower, t.upper, t.mul(3).sub(1).lower, t.value, t.sub(t).value];
      seen.equal = [t.add(t).equals(t.mul(2)), t.equals(odd), x.dim(0).equals(t.mul(2).add(1)), later.dim(-1).value];
      seen.model = model.longest;
      return seen.texts.reduce((sum, dim) => sum.add(sizeTensor(dim, 'f32')), sizeTensor(0, 'f32'))
        .add(x.sum()).add(later.sum());
    },
  });
  jit.prepare({ later: f32([1, 3]) });
  for (const [t, odd] of [[4, 2], [17, 5], [30, 3]]) {
    jit.executeWithVars({ t, 'a size': odd });
    const wanted = t + (t + 1) + (t - 1) + t * t + 2 * Math.floor(t / 3) + (t % 4) + Math.ceil(t / 3) + Math.min(t, 7) +
      Math.max(t, odd);
    same(`dimensions at ${t}`, jit.output().data, [wanted]);
  }
  same('bounds', seen.bounds, [4, 30, 11, undefined, 0]);
  same('equal', seen.equal, [true, false, true, 3]);
  same('model', seen.model, 30);
  same('text', String(seen.texts[1]), 't + 1');
  refuses('a dimension as a number', 'Tensor', ['t', 'no values', 'add()'], () => seen.texts[0] + 1);
  refuses('a bound that is no number', 'Variable', ['"t"', '"x"'], () => engine.jit({ vars: { t: [1, 'x'] }, build() {} }));
  refuses('a bound below the other', 'Variable', ['"t"', '5', '2'], () =>
    engine.jit({ vars: { t: [5, 2] }, inputs: { x: f32(['t']) }, build: ({ x }) => x.neg() }).prepare());
  jit.destroy();
}

function checkBounds(engine, { same, refuses }) {
  const jit = windowSums(engine);
  refuses('max below min', 'InvalidArgument', ['"t"', '2', '3'], () => jit.withBound('t', 2));
  refuses('min above max', 'InvalidArgument', ['"t"', '41', '40'], () => jit.withMinBound('t', 41));
  refuses('fixed at 0', 'InvalidArgument', ['"b"', '0'], () => jit.withFixed('b', 0));
  refuses('a bound of nothing', 'Variable', ['"q"', 'b, t'], () => jit.withBound('q', 2));
  refuses('a broken bound', 'InvalidArgument', ['"t"', '2.5'], () => jit.withBound('t', 2.5));
  jit.withBound('t', 20).withMinBound('t', 5).withFixed('b', 2);
  same('variables', JSON.stringify(jit.variables), '{"b":{"min":2,"max":2},"t":{"min":5,"max":20}}');
  refuses('execute before prepare', 'NotPrepared', ['sums', 'prepare'], () => jit.execute());
  refuses('an input before prepare', 'NotPrepared', ['sums', 'prepare'], () => jit.input('x'));
  refuses('reset before prepare', 'NotPrepared', ['reset()'], () => jit.reset());
  refuses('replicate before prepare', 'NotPrepared', ['replicate()'], () => jit.replicate());
  jit.prepare();
  same('the largest shape', jit.input('x').shape, [2, 20]);
  for (const [name, value, words] of [['t', 4, ['5', '20']], ['t', 21, ['5', '20']], ['t', 5.5, ['5.5']], ['t', NaN, ['NaN']],
    ['t', '7', ['"7"']], ['q', 1, ['declared: b, t']], ['b', 1, ['2']]]) {
    const error = refuses(`${name} = ${value}`, 'Variable', [`"${name}"`, ...words], () => jit.executeWithVars({ [name]: value }));
    same(`the field of ${name} = ${value}`, error?.variable, name);
  }
  refuses('a bound after prepare', 'Runtime', ['after prepare()'], () => jit.withBound('t', 10));
  refuses('a second prepare', 'Runtime', ['prepared already'], () => jit.prepare());
  jit.executeWithVars({ t: 7 });
  same('the shape after refused values', jit.output().shape, [2, 3]);
  jit.execute();
  const largest = jit.output().shape;
  for (const nothing of [undefined, null]) {
    jit.executeWithVars({ t: 7 });
    jit.executeWithVars({ t: nothing });
    same(`the shape of t = ${nothing}`, jit.output().shape, largest);
    refuses(`q = ${nothing}`, 'Variable', ['declared: b, t'], () => jit.executeWithVars({ q: nothing }));
  }
  jit.destroy();
}

function checkState(engine, { same, refuses }) {
  const counter = engine.jit({
    inputs: { step: f32([3]) },
    state: { total: { dtype: 'f32', shape: [3], init: Float32Array.of(1, 2, 3) }, count: { dtype: 'i32', shape: [], init: 10 } },
    build: ({ step, total, count }) => ({ y: total.mul(2), total: total.add(step), count: count.add(1) }),
  }).prepare();
  const step = Float32Array.of(1, 10, 100);
  same('first step', counter.step({ step }), [2, 4, 6]);
  same('second step', counter.step({ step }), [4, 24, 206]);
  same('total', counter.state('total').data, [3, 22, 203]);
  const copy = counter.replicate();
  same('a step of a replica', copy.step(), [6, 44, 406]);
  same('the source after it', counter.state('count').data, [12]);
  same('the replica', copy.state('count').data, [13]);
  counter.reset();
  same('reset', [...counter.state('total').data, ...counter.state('count').data], [1, 2, 3, 10]);
  counter.state('total').copyFrom(Float32Array.of(5, 5, 5));
  same('a state that was written', counter.step({ step }), [10, 10, 10]);
  counter.destroy();
  same('a replica outlives its source', copy.step({ step: new Float32Array(3) }), [8, 64, 606]);
  copy.reset();
  same('reset of a replica', copy.state('count').data, [10]);
  copy.destroy();
  refuses('a state that is not returned', 'Build', ['"h"'], () =>
    engine.jit({ state: { h: f32([2]) }, outputs: { y: null }, build: ({ h }) => ({ y: h.neg() }) }).prepare());
  refuses('a state of another shape', 'Build', ['"h"', '[2]', '[1, 2]'], () =>
    engine.jit({ state: { h: f32([2]) }, build: ({ h }) => ({ y: h, h: h.unsqueeze(0) }) }).prepare());
  refuses('an init of another dtype', 'DtypeMismatch', ['"h"', 'Float32Array', 'Int32Array'], () =>
    engine.jit({ state: { h: { ...f32([2]), init: new Int32Array(2) } }, build: ({ h }) => ({ h }) }));
}

function checkBuffers(engine, { same, refuses }) {
  const jit = engine.jit({
    name: 'pair', vars: { t: [1, 4] }, inputs: { whole: null, live: f32([2, 't']) },
    build: ({ whole, live, t }) => ({ a: whole.shrink([[0, 2], [0, t]]).add(live), b: live.greater(0).cast('i64').sum([0]) }),
  }).prepare({ whole: f32([3, 4]) });
  jit.input('whole').copyFrom(Float32Array.of(1, 2, 3, 4), [2, 2]);
  jit.input('live').copyFrom(Float32Array.of(10, 20, 30, -40), [2, 2]);
  jit.executeWithVars({ t: 2 });
  same('a window and a dense input', jit.output('a').as('f32'), [11, 22, 33, -36]);
  same('another dtype', jit.output('b').as('i64'), [2, 1]);
  same('names', [jit.output('a').name, jit.output('b').dtype, jit.output('a').shape], ['a', 'i64', 2, 2]);
  refuses('the wrong dtype', 'DtypeMismatch', ['"whole"', 'Float32Array', 'Float64Array'], () =>
    jit.input('whole').copyFrom(new Float64Array(12)));
  refuses('numbers in a list', 'DtypeMismatch', ['"whole"', 'Array'], () => jit.input('whole').copyFrom([1]));
  refuses('too few', 'ViewOutOfBounds', ['"whole"', '12', '11'], () => jit.input('whole').copyFrom(new Float32Array(11)));
  refuses('too large a live shape', 'ViewOutOfBounds', ['"live"', '5'], () =>
    jit.input('live').copyFrom(new Float32Array(10), [2, 5]));
  refuses('a live shape of another size', 'ViewOutOfBounds', ['"live"', '3', '4'], () =>
    jit.input('live').copyFrom(new Float32Array(3), [2, 2]));
  refuses('a live shape that is none', 'InvalidArgument', ['"live"'], () => jit.input('live').copyFrom(new Float32Array(3), 3));
  refuses('another view', 'DtypeMismatch', ['"b"', 'f32', 'i64'], () => jit.output('b').as('f32'));
  refuses('an unknown input', 'InputBufferNotFound', ['"sampels"', 'whole, live'], () => jit.input('sampels'));
  refuses('an unknown input of a step', 'InputBufferNotFound', ['"sampels"'], () => jit.step({ sampels: new Float32Array(1) }));
  refuses('an unknown output', 'NotFound', ['"c"', 'a, b'], () => jit.output('c'));
  refuses('an unknown state', 'InputBufferNotFound', ['"h"', 'none'], () => jit.state('h'));
  same('a step with a live shape', jit.step({ live: { data: Float32Array.of(1, 2), shape: [2, 1] } }, { t: 1 }), [2, 5]);
  jit.destroy();
  for (const use of [() => jit.execute(), () => jit.input('whole'), () => jit.reset(), () => jit.withBound('t', 2)]) {
    refuses('a destroyed wrapper', 'Destroyed', ['pair'], use);
  }
  refuses('a port of a destroyed wrapper', 'Destroyed', ['sums'], () => {
    const other = windowSums(engine).prepare();
    const port = other.input('x');
    other.destroy();
    return port.data;
  });
}

/** The memory grows while wrappers stand: handles stay right, arrays from before are empty. */
function checkGrowth(engine, { same }) {
  const jit = engine.jit({ inputs: { x: f32([2]) }, build: ({ x }) => x.mul(3) }).prepare();
  const before = engine.counters().memoryBytes;
  const kept = jit.input('x').data;
  kept.set([1, 2]);
  const large = engine.jit({ inputs: { x: f32([8 << 20]) }, build: ({ x }) => x.neg() }).prepare();
  same('growth', engine.counters().memoryBytes > before, true);
  same('an array that was kept', kept.length, 0);
  same('a fresh view', jit.input('x').data, [1, 2]);
  jit.execute();
  same('a step after growth', jit.output().data, [3, 6]);
  large.destroy();
  jit.destroy();
}

function checkBuildErrors(engine, { same, refuses }) {
  const prepare = (build, more = {}) => engine.jit({ name: 'wrong', inputs: { x: f32([2, 3]) }, build, ...more }).prepare();
  const error = refuses('shapes that do not fit', 'Build', ['wrong', 'matmul', '[2, 3]'], () => prepare(({ x }) => x.matmul(x)));
  same('the cause', [error.cause?.name, error.cause?.code], ['TandemError', 'Tensor']);
  same('the line of the cause', error.cause?.stack.includes('jit.mjs'), true);
  const own = new RangeError('my own words');
  const thrown = refuses('an error of the user', 'Build', ['wrong', 'my own words'], () => prepare(() => {
    throw own;
  }));
  same('the same error as cause', thrown.cause === own, true);
  for (const [what, result] of [['nothing', undefined], ['a number', 3], ['an array', []], ['null', null]]) {
    refuses(`build returns ${what}`, 'Build', ['it returned', 'Tensor'], () => prepare(() => result));
  }
  refuses('build returns no tensors', 'Build', ['nothing'], () => prepare(() => ({})));
  refuses('build returns a promise', 'Build', ['promise'], () => prepare(async ({ x }) => x));
  refuses('a result that is no tensor', 'Build', ['"y"', '3'], () => prepare(() => ({ y: 3 })));
  refuses('an output of another dtype', 'DtypeMismatch', ['"y"', 'f32', 'i64'], () =>
    prepare(({ x }) => ({ y: x.argmax(0) }), { outputs: { y: 'f32' } }));
  refuses('an output that is not declared', 'Build', ['"z"'], () => prepare(({ x }) => ({ z: x }), { outputs: { y: 'f32' } }));
  refuses('an input that is ignored', 'InputBufferNotFound', ['"lost"'], () =>
    prepare(({ x }) => x.neg(), { inputs: { x: f32([1]), lost: f32([1]) } }));
  refuses('two of one name', 'DuplicateInputBuffer', ['"x"'], () =>
    prepare(({ x }) => ({ x }), { state: { x: f32([2, 3]) } }));
  refuses('an input and a variable of one name', 'DuplicateInputBuffer', ['"x"'], () => prepare(({ x }) => x, { vars: { x: [1, 2] } }));
  refuses('a shape with an unknown variable', 'Variable', ['"q"', '"x"'], () => prepare(({ x }) => x, { inputs: { x: f32(['q']) } }));
  refuses('no shape', 'Tensor', ['"x"', 'prepare('], () => prepare(({ x }) => x, { inputs: { x: null } }));
  refuses('an unknown element type', 'InvalidArgument', ['"float"'], () =>
    prepare(({ x }) => x, { inputs: { x: { dtype: 'float', shape: [1] } } }));
  refuses('an unknown key', 'InvalidArgument', ['"input"', 'inputs'], () => engine.jit({ input: {}, build() {} }));
  refuses('no build', 'InvalidArgument', ['build'], () => engine.jit({}));
  refuses('no declaration', 'InvalidArgument', ['jit() got undefined', 'inputs', 'build'], () => engine.jit());
  refuses('null as declaration', 'InvalidArgument', ['jit() got null'], () => engine.jit(null));
  refuses('too much memory', 'MemoryLimit', ['wrong'], () =>
    engine.jit({ name: 'wrong', inputs: { x: f32([1 << 20]) }, build: ({ x }) => x.neg() }).prepare({}, { memoryLimit: 1000 }));
  const again = engine.jit({ inputs: { x: null }, build: ({ x }) => x.reshape([6]) });
  refuses('a first try', 'Build', ['reshape'], () => again.prepare({ x: f32([5]) }));
  same('a second try', again.prepare({ x: f32([2, 3]) }).output().shape, [6]);
  again.destroy();
}

function checkArguments(engine, { refuses, same }) {
  const within = (action) => engine.jit({ inputs: { x: f32([2, 3]) }, build: (t, ops) => action(t.x, ops) ?? t.x.neg() }).prepare();
  const cases = [
    ['a value', 'Tensor', ['no values', 'where()'], (x) => x.item()],
    ['the data', 'Tensor', ['no values'], (x) => x.data],
    ['a comparison', 'Tensor', ['no values'], (x) => x > 0],
    ['the elements', 'Tensor', ['no values'], (x) => [...x]],
    ['an axis that is no number', 'InvalidArgument', ['softmax(): axis', '"1"'], (x) => x.softmax('1')],
    ['an axis that does not exist', 'Tensor', ['axis 2', '[2, 3]'], (x) => x.softmax(2)],
    ['a missing argument', 'InvalidArgument', ['gather(): indices is missing'], (x) => x.gather(0)],
    ['too many arguments', 'InvalidArgument', ['relu()', '3'], (x) => x.relu(1, 2)],
    ['an unknown option', 'InvalidArgument', ['conv1d()', '"strides"', 'stride'], (x) => x.conv1d(x, x, { strides: 2 })],
    ['no tensor', 'InvalidArgument', ['matmul(): b', '3'], (x) => x.matmul(3)],
    ['an operand of a wrong type', 'InvalidArgument', ['add(): y', '"1"'], (x) => x.add('1')],
    ['two numbers', 'Tensor', ['add', 'numbers'], (x, { add }) => add(1, 2)],
    ['a fraction for integers', 'Tensor', ['0.5'], (x) => x.cast('i32').add(0.5)],
    ['mixed dtypes', 'Tensor', ['f32', 'i64'], (x) => x.add(x.argmax(0))],
    ['a wrong dtype', 'InvalidArgument', ['cast(): dtype', '"f31"'], (x) => x.cast('f31')],
    ['a shape that is none', 'InvalidArgument', ['reshape(): shape', '6'], (x) => x.reshape(6)],
    ['a size that is none', 'InvalidArgument', ['reshape(): shape[1]', '1.5'], (x) => x.reshape([4, 1.5])],
    ['a pair that is none', 'InvalidArgument', ['pad(): amounts[0]'], (x) => x.pad([1, 2])],
    ['a constant of another size', 'Tensor', ['3', '2'], (x, { constant }) => constant([1, 2, 3], [2])],
    ['a constant of another dtype', 'DtypeMismatch', ['i32', 'Float32Array'],
      (x, { constant }) => constant(new Float32Array(2), [2], 'i32')],
  ];
  for (const [what, code, words, action] of cases) {
    within((x, ops) => {
      refuses(what, code, words, () => action(x, ops));
    }).destroy();
  }
  let escaped;
  let functions;
  const first = within((x, ops) => {
    escaped = x;
    functions = ops;
  });
  refuses('an operation outside of a build function', 'InvalidArgument', ['outside'], () => escaped.neg());
  refuses('a function outside of a build function', 'InvalidArgument', ['outside'], () => functions.zeros([1]));
  within(() => {
    refuses('a tensor of another build function', 'NotFound', ['outlived'], () => escaped.neg());
  }).destroy();
  within((x) => {
    const inner = engine.jit({ inputs: { z: f32([2]) }, build: ({ z }) => z.mul(2) }).prepare();
    same('a build function inside of another', inner.step({ z: Float32Array.of(1, 2) }), [2, 4]);
    inner.destroy();
    return x.add(1);
  }).destroy();
  const self = engine.jit({
    name: 'self', inputs: { z: f32([2]) },
    build({ z }) {
      refuses('destroy() inside of build', 'InvalidArgument', ['self', 'own build'], () => self.destroy());
      refuses('prepare() inside of build', 'InvalidArgument', ['self', 'own build'], () => self.prepare());
      return z.neg();
    },
  });
  self.prepare();
  self.destroy();
  first.destroy();
}

/** Constants of every dtype come out as they went in. */
function checkConstants(engine, { same }) {
  const arrays = {
    bool: Uint8Array.of(0, 1), i8: Int8Array.of(-128, 127), i16: Int16Array.of(-32768, 32767), i32: Int32Array.of(-(2 ** 31), 5),
    i64: BigInt64Array.of(-(2n ** 63n), 2n ** 60n + 1n), u8: Uint8Array.of(0, 255), u16: Uint16Array.of(0, 65535),
    u32: Uint32Array.of(7, 2 ** 32 - 1), u64: BigUint64Array.of(3n, 2n ** 64n - 1n), f16: Uint16Array.of(0x3c00, 0xfbff),
    bf16: Uint16Array.of(0x3f80, 0xff7f), f32: Float32Array.of(0.1, -1e-30), f64: Float64Array.of(0.1, -1e-300),
  };
  const jit = engine.jit({
    inputs: { pick: { dtype: 'bool', shape: [1] } },
    build: ({ pick }, { constant }) => Object.fromEntries(Object.entries(arrays).map(([dtype, array]) =>
      [dtype, pick.where(constant(array, [2], dtype), constant(array, [2], dtype).flip(0))])),
  }).prepare();
  for (const flag of [1, 0]) {
    jit.step({ pick: Uint8Array.of(flag) });
    for (const [dtype, array] of Object.entries(arrays)) {
      same(`constants of ${dtype}`, jit.output(dtype).as(dtype), flag ? array : array.slice().reverse());
    }
  }
  jit.destroy();
  const numbers = engine.jit({
    inputs: { x: { dtype: 'i64', shape: [1] }, y: { dtype: 'u64', shape: [1] }, z: f32([1]) },
    build: ({ x, y, z }) => ({ x: x.add(2n ** 62n), y: y.add(2n ** 64n - 1n), z: z.div(-0), w: z.add(Infinity) }),
  }).prepare();
  numbers.step({ x: BigInt64Array.of(1n), y: BigUint64Array.of(0n), z: Float32Array.of(1) });
  same('large numbers', ['x', 'y', 'z', 'w'].map((name) => numbers.output(name).data[0]),
    [2n ** 62n + 1n, 2n ** 64n - 1n, -Infinity, Infinity]);
  numbers.destroy();
}

async function checkWeights(engine, weights, { same, refuses, problems }) {
  const file = await engine.weights(weights);
  same('a name', file.has('If_0_then_branch__Inline_0__decoder.rnn.bias_ih'), true);
  const bias = file.tensor('If_0_then_branch__Inline_0__decoder.rnn.bias_ih');
  same('a weight', String(bias), 'f32[512]');
  same('the same weight again', file.tensor('If_0_then_branch__Inline_0__decoder.rnn.bias_ih') === bias, true);
  const missing = refuses('a missing weight', 'NotFound', ['"nothing"'], () => file.tensor('nothing'));
  same('its name', missing?.weight, 'nothing');
  const jit = engine.jit({ inputs: { x: f32([1]) }, build: ({ x }) => x.add(bias).sum() }).prepare();
  file.destroy();
  const before = jit.step({ x: new Float32Array(1) })[0];
  same('512 times 1 more', Math.abs(jit.step({ x: Float32Array.of(1) })[0] - before - 512) < 1e-3, true);
  refuses('destroyed weights', 'Destroyed', ['weights'], () => file.tensor('x'));
  const gone = refuses('a destroyed weight', 'Build', ['outlived'], () =>
    engine.jit({ inputs: { x: f32([1]) }, build: ({ x }) => x.add(bias) }).prepare());
  same('why', gone?.cause?.code, 'NotFound');
  jit.destroy();
  try {
    await engine.weights(new Uint8Array(5));
    problems.push('5 bytes are no weights');
  } catch (error) {
    same('5 bytes', error.code, 'InvalidFormat');
  }
}

function checkRecurrent(engine, { same, refuses }) {
  const build = ({ x, h, c }, { concat }) => concat([x.add(h), h.add(c), c.add(1)], 1);
  const jit = engine.jit({ inputs: { x: f32([1, 2]), h: f32([1, 2]), c: f32([1, 2]) }, build }).prepare();
  refuses('a wrong head', 'OutputLayoutMismatch', ['3'], () => engine.recurrent(jit, { head: 3 }));
  refuses('no head', 'InvalidArgument', ['head'], () => engine.recurrent(jit, {}));
  refuses('a wrong name', 'InputBufferNotFound', ['"state"'], () => engine.recurrent(jit, { head: 2, h: 'state' }));
  const recurrent = engine.recurrent(jit, { head: 2 });
  const found = [1, 2, 3].map(() => Array.from(recurrent.step({ x: Float32Array.of(5, 6) })));
  same('heads', found, [[5, 6], [5, 6], [6, 7]]);
  same('state', [...recurrent.state.h, ...recurrent.state.c], [3, 3, 3, 3]);
  const huge = refuses('a state that is not finite', 'NonFinite', ['element 1', 'h'], () => {
    recurrent.state.h[1] = 3e38;
    recurrent.state.c[1] = 3e38;
    recurrent.step();
  });
  same('its place', huge?.index, 1);
  same('the state after it', [...recurrent.state.h, ...recurrent.state.c], [3, Math.fround(3e38), 3, Math.fround(3e38)]);
  recurrent.reset();
  same('reset', [...recurrent.state.h, ...recurrent.state.c], [0, 0, 0, 0]);
  jit.destroy();
}

/** What stays when wrappers come and go. */
function checkCounters(engine, { same }) {
  const once = () => {
    windowSums(engine).prepare().destroy();
    try {
      engine.jit({ inputs: { x: f32([2]) }, build: ({ x }) => x.matmul(x.reshape([3])) }).prepare();
    } catch (error) {
      if (error.code !== 'Build') throw error;
    }
  };
  for (let i = 0; i < 5; i++) once();
  const before = engine.counters();
  for (let i = 0; i < 50; i++) once();
  const after = engine.counters();
  same('modules', after.modules, before.modules);
  same('table slots', after.tableSlots, before.tableSlots);
  return [before, after];
}

/** All of it; sentences about what is wrong. `weights`: the bytes of silero_vad_v5.onnx. */
export async function checkJit(createEngine, weights) {
  const notes = makeNotes();
  const engine = await createEngine();
  for (const check of [checkVariables, checkDims, checkBounds, checkState, checkArrays, checkProfile, checkBuffers, checkGrowth, checkBuildErrors,
    checkArguments, checkConstants, checkRecurrent, checkCounters]) {
    try {
      check(engine, notes);
    } catch (error) {
      notes.problems.push(`${check.name}: ${error.code ?? error.name}: ${error.message}\n${error.stack}`);
    }
  }
  await checkWeights(engine, weights, notes);
  const jit = windowSums(engine).prepare();
  engine.destroy();
  for (const use of [() => jit.execute(), () => jit.input('x'), () => engine.jit({ build() {} }), () => engine.weights(weights)]) {
    notes.refuses('a destroyed engine', 'Destroyed', [], use);
  }
  return notes.problems;
}
