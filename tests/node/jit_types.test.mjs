// Programs in TypeScript against the types of the package: correct ones compile, wrong names do not, and are named.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createEngine, f32 } from '../../build/web/tandem/index.js';
import { root } from '../web/files.mjs';

const PRELUDE = `import { arrayOf, createEngine, f32, i32, TandemError, type Dim, type Operations, type Tensor } from '../tandem/index.js';
const engine = await createEngine();
const mixer = engine.jit({
  name: 'mixer', model: { longest: 300, scale: 2 },
  vars: { t: [1, (one) => one.longest], b: [1, 4] },
  inputs: {
    gain: null, samples: f32([2, 't']), lengths: i32(['b']),
    windows: { dtype: 'f32', shape: ({ t }) => [t.mul(160).add(1), 2] },
  },
  state: { h: { dtype: 'f32', shape: [1, 128], init: 0 } },
  outputs: { y: 'f32', n: 'i64', other: null },
  build({ gain, samples, lengths, windows, h, t, b }, { concat, sub, sizeTensor }, model) {
    const size: Dim = t;
    const tensor: Tensor = samples;
    const y = gain.matmul(tensor).mul(model.scale).add(sub(1, gain).sum()).add(windows.sum()).add(lengths.cast('f32').sum());
    return { y, n: sizeTensor(size.add(b)), other: concat([y, y], 0), h: h.add(y.mean()) };
  },
});
const plain = engine.jit({ inputs: { x: f32([3]) }, build: ({ x }) => x.relu() });
const bank = engine.jit({
  model: { bands: 3 }, vars: { t: [1, 8] },
  inputs: {
    gain: null, bands: arrayOf(3), lanes: arrayOf(2, f32(['t'])), more: arrayOf((one) => one.bands, f32([1])),
    rows: { count: 2, dtype: 'i32', shape: ({ t }) => [t] },
  },
  state: { totals: { ...arrayOf(2, f32([1])), init: 0 }, last: f32([1]) },
  outputs: { sums: arrayOf(2, 'f32'), any: arrayOf(1), count: 'i32' },
  build({ gain, bands, lanes, more, rows, totals, last }, { concat }) {
    const three: readonly [Tensor, Tensor, Tensor] = bands;
    const next = totals.map((total, i) => total.add(lanes[i].sum([0], true)).add(last));
    const any = concat(three, 0).mul(gain).add(more[0]);
    return { sums: [lanes[0].add(next[0]), lanes[1]], any: [any], count: rows[1].sum(), totals: next, last: bands[2] };
  },
});
`;

const GOOD = `
mixer.withBound('t', 200).withFixed('b', 2).prepare({ gain: f32([1, 2]) }, { numerics: 'reproducible' });
mixer.input('samples').copyFrom(new Float32Array(4), [2, 2]);
mixer.input('lengths').data.set([1, 2]);
mixer.executeWithVars({ t: 2 });
mixer.executeWithVars({ t: Math.random() < 0.5 ? undefined : null });
const y: Float32Array = mixer.output('y').data;
const n: BigInt64Array = mixer.output('n').data;
const shape: number[] = mixer.output('other').shape;
const state: Float32Array = mixer.state('h').data;
plain.prepare();
const result: Float32Array = plain.output().as('f32');
const head: Float32Array = engine.recurrent(plain, { head: 1 }).step({ x: new Float32Array(3) });
const named = engine.jit({ inputs: { x: f32([3]) }, build({ x }) { return { a: x, b: x.argmax(0) }; } }).prepare();
const largest: boolean = named.output('b').as('i64')[0] === 3n;
plain.replicate().step({ x: { data: new Float32Array(1), shape: [1] } });
const weights = await engine.weights(new Uint8Array(8));
engine.jit({ inputs: { x: f32([1]) }, build: ({ x }) => x.linear(weights.tensor(weights.names[0])) });
bank.prepare({ gain: f32([1]), bands: f32([1]) });
bank.prepare({ gain: f32([1]), bands: [f32([1]), f32([1]), f32([1])] }, { numerics: 'fast' });
for (let i = 0; i < bank.inputCount('bands'); i++) bank.input('bands', i).fill(1);
bank.input('more', 17).copyFrom(new Float32Array(1));
bank.input('rows', 1).copyFrom(new Int32Array(8));
bank.step({ bands: [new Float32Array(1), { data: new Float32Array(1), shape: [1] }, new Float32Array(1)] }, { t: 8 });
const sum: Float32Array = bank.output('sums', 1).data;
const total: Float32Array = bank.state('totals', 0).data;
const count: Int32Array = bank.output('count').data;
const rows: { kernel: string; share: number }[] = bank.executeWithVarsProfiled({ t: 3 }, { repetitions: 2, marks: false });
const parts = engine.jit({ inputs: { x: f32([3]) }, build: ({ x }) => ({ parts: x.split(0, [1, 2]), y: x }) }).prepare();
parts.output('parts', parts.outputCount('parts') - 1).as('f32');
console.log(sum, total, count, rows, plain.executeProfiled()[0].origin);
try { mixer.destroy(); } catch (error) { if (error instanceof TandemError) console.log(error.code, error.cause, error.variable); }
console.log(y, n, shape, state, result, head, largest);
`;

/** A statement, and the word that its error must hold. */
const BAD = [
  [`mixer.input('sampels');`, `"sampels"`],
  [`mixer.output('z');`, `"z"`],
  [`mixer.state('cell');`, `"cell"`],
  [`mixer.step({ sampels: new Float32Array(1) });`, `'sampels'`],
  [`mixer.executeWithVars({ tt: 3 });`, `'tt'`],
  [`mixer.executeWithVars({ t: '3' });`, `number`],
  [`mixer.withBound('q', 3);`, `"q"`],
  [`mixer.input('samples').copyFrom(new Float64Array(3));`, `Float64Array`],
  [`mixer.input('lengths').copyFrom(new Float32Array(3));`, `Float32Array`],
  [`mixer.step({ samples: new Int32Array(1) });`, `Int32Array`],
  [`const wrong: Float32Array = mixer.output('n').data;`, `BigInt64Array`],
  [`mixer.prepare();`, `arguments`],
  [`mixer.prepare({ gian: f32([1, 2]) });`, `'gian'`],
  [`engine.jit({ vars: { t: [1, 3] }, inputs: { x: f32([2, 'q']) }, build: ({ x }) => x });`, `"q"`],
  [`engine.jit({ inputs: { x: f32([2]) }, build: ({ y }) => y });`, `'y'`],
  [`engine.jit({ inputs: { x: { dtype: 'f31', shape: [2] } }, build: ({ x }) => x });`, `"f31"`],
  [`engine.jit({ inputs: { x: f32([2]) }, build: ({ x }) => x.relux() });`, `'relux'`],
  [`engine.jit({ inputs: { x: f32([2]) }, build: ({ x }, ops) => ops.softmaxx(x) });`, `'softmaxx'`],
  [`engine.jit({ inputs: { x: f32([2]) }, build: ({ x }) => x.data });`, `'data'`],
  [`engine.jit({ inputs: { x: f32([2]) }, build: ({ x }) => x.item() });`, `'item'`],
  [`engine.jit({ inputs: { x: f32([2]) }, build: ({ x }) => x.add(x > 0 ? 1 : 2) });`, `'>'`],
  [`engine.jit({ vars: { t: [1, 3] }, inputs: { x: f32(['t']) }, build: ({ x, t }) => x.slice(0, t - 1) });`, `arithmetic`],
  [`engine.jit({ inputs: { x: f32([2]) }, build: () => 3 });`, `number`],
  [`engine.jit({ inputs: { x: f32([2]) }, state: { h: f32([2]) }, build: ({ x, h }) => ({ y: x.add(h) }) });`, `'h'`],
  [`bank.input('bands', 3);`, `'3'`],
  [`bank.input('bands');`, `"bands"`],
  [`bank.input('gain', 0);`, `"gain"`],
  [`bank.input('bnads', 0);`, `"bnads"`],
  [`bank.state('totals', -1);`, `'-1'`],
  [`bank.output('sums', 2);`, `'2'`],
  [`bank.output('count', 0);`, `"count"`],
  [`bank.input('lanes', 0).copyFrom(new Int32Array(3));`, `Int32Array`],
  [`const wrong: Int32Array = bank.output('sums', 0).data;`, `Float32Array`],
  [`bank.inputCount('gain');`, `"gain"`],
  [`bank.prepare({ gain: f32([1]), bands: [f32([1]), f32([1])] });`, `target requires 3`],
  [`bank.prepare({ gain: [f32([1])], bands: f32([1]) });`, `'GivenSpec'`],
  [`bank.prepare({ gain: f32([1]) });`, `'bands'`],
  [`bank.step({ bands: new Float32Array(3) });`, `Float32Array`],
  [`bank.step({ lanes: [new Float64Array(3), new Float32Array(3)] });`, `Float64Array`],
  [`bank.executeWithVarsProfiled({ q: 3 });`, `'q'`],
  [`plain.executeProfiled()[0].name;`, `'name'`],
  [`engine.jit({ inputs: { x: arrayOf(2, f32([1])) }, build: ({ x }) => x[2] });`, `'2'`],
  [`engine.jit({ inputs: { x: arrayOf(2, f32([1])) }, build: ({ x }) => x.relu() });`, `'relu'`],
  [`engine.jit({ inputs: { x: arrayOf('2', f32([1])) }, build: () => engine });`, `'string'`],
  [`engine.jit({ inputs: { x: f32([2]) }, outputs: { y: arrayOf(2) }, build: ({ x }) => ({ y: x }) });`, `'Tensor'`],
];

function compile(programs) {
  const folder = join(root, 'build/web/jit_types');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const files = Object.entries(programs).map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [compiler, '--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext',
    '--lib', 'es2022,dom', '--typeRoots', folder, ...files], { encoding: 'utf8', maxBuffer: 1 << 24 });
  // An error, and the lines that explain it, which are indented.
  return stdout.split(/\n(?=\S)/).filter(Boolean).map((text) => {
    const [, file, line] = text.match(/([^/(]+)\((\d+),\d+\): error/) ?? [];
    return { file, line: Number(line), text };
  });
}

test('correct programs compile; wrong names and arrays do not, and the message names them', () => {
  const programs = { 'good.ts': PRELUDE + GOOD };
  BAD.forEach(([statement], i) => (programs[`bad_${i}.ts`] = PRELUDE + statement));
  const errors = compile(programs);
  assert.deepEqual(errors.filter(({ file }) => !file?.startsWith('bad_')), []);
  const line = PRELUDE.split('\n').length;
  BAD.forEach(([statement, word], i) => {
    const found = errors.filter(({ file }) => file === `bad_${i}.ts`);
    assert.ok(found.length > 0, `it compiles: ${statement}`);
    for (const error of found) assert.equal(error.line, line, error.text);
    assert.ok(found.some(({ text }) => text.includes(word)), `${statement}\nhas no ${word} in ${found.map(({ text }) => text)}`);
  });
});

test('the example in jit.d.ts compiles and computes what it says', async () => {
  const guide = readFileSync(join(root, 'web/jit.d.ts'), 'utf8').split('*/')[0];
  const example = guide.split('\n').filter((line) => line.startsWith(' *     ')).map((line) => line.slice(7)).join('\n');
  const errors = compile({
    'guide.ts': `import { createEngine, f32 } from '../tandem/index.js';
      const engine = await createEngine();
      const stereo = new Float32Array(400);
      ${example}
      const samples: Float32Array = y.data;
      console.log(samples);`,
  });
  assert.deepEqual(errors.map(({ text }) => text), []);
  const engine = await createEngine();
  const stereo = Float32Array.from({ length: 400 }, (_, i) => (i % 16) - 8);
  const y = new Function('engine', 'f32', 'stereo', `${example}\nreturn y;`)(engine, f32, stereo);
  assert.deepEqual(y.shape, [1, 200]);
  y.data.forEach((value, i) => assert.equal(value, (0.25 * stereo[i] + 0.75 * stereo[200 + i]) * 0.5));
  engine.destroy();
});

test('the types describe every operation, and no other', async () => {
  const engine = await createEngine();
  const names = Object.keys(engine.operations.functions);
  const methods = names.filter((name) => !['constant', 'full', 'zeros', 'arange', 'sizeTensor', 'concat', 'stack'].includes(name));
  engine.destroy();
  const union = (list) => list.map((name) => `'${name}'`).join(' | ');
  const errors = compile({
    'operations.ts': `import type { Operations, Tensor } from '../tandem/index.js';
      type Names = ${union(names)};
      type Same<A, B> = [Exclude<A, B>, Exclude<B, A>];
      const functions: Same<Names, keyof Operations> extends [never, never] ? true : Same<Names, keyof Operations> = true;
      type Methods = ${union(methods)};
      type Others = 'dtype' | 'shape' | 'rank' | 'dim' | 'toString';
      const methods: Same<Methods | Others, keyof Tensor> extends [never, never] ? true : Same<Methods | Others, keyof Tensor> = true;
      console.log(functions, methods);`,
  });
  assert.deepEqual(errors.map(({ text }) => text), []);
});
