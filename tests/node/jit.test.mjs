import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createEngine } from '../../build/web/tandem/index.js';
import { clip, golden, makeClips, root, weightsPath } from '../web/files.mjs';
import { checkJit } from '../web/jit.mjs';
import { checkOperations, operationCases } from '../web/jit_operations.mjs';
import { checkSilero } from '../web/silero_model.mjs';

const engine = await createEngine();
const available = Object.keys(engine.operations.functions);

for (const numerics of ['fast', 'reproducible']) {
  test(`every operation against float64: ${numerics}`, (t) => {
    const { problems, worst, count } = checkOperations(engine, numerics);
    t.diagnostic(`${count} cases, largest error ${worst.toExponential(1)}`);
    assert.deepEqual(problems, []);
  });

  test(`Silero v5 written in JavaScript agrees with the goldens: ${numerics}`, async (t) => {
    makeClips();
    const { problems, worst, clips } = await checkSilero(engine, {
      weights: weightsPath('v5'), golden: golden('v5', 16000), samplesOf: clip, numerics,
    });
    t.diagnostic(`${clips} clips, largest difference of a probability: ${worst.toExponential(1)}`);
    assert.equal(clips, 14);
    assert.deepEqual(problems, []);
  });
}

test('wrappers: variables, bounds, states, buffers, growth, errors', async () => {
  assert.deepEqual(await checkJit(createEngine, new Uint8Array(readFileSync(weightsPath('v5')))), []);
});

test('every operation has a case', () => {
  const tried = new Set(operationCases.map(([name]) => name));
  assert.deepEqual(available.filter((name) => !tried.has(name)), []);
});

test('every operation of core/tensor is there, and nothing else', () => {
  const operators = { '+': 'add', '-': 'sub', '*': 'mul', '/': 'div', '%': 'mod' };
  // What makes a graph's inputs, the general forms of operations with names of their own, and the macro's parameter.
  const internal = ['input', 'binary', 'unary', 'function'];
  const names = new Set(['neg']);
  for (const header of ['tensor.h', 'nn.h']) {
    const text = readFileSync(join(root, 'core/tensor', header), 'utf8');
    const found = text.matchAll(
      /^ *(?:static |inline )?(?:Tensor|std::vector<Tensor>|LstmOutput) (\w+|operator.)\(|^TANDEM_BINARY\((\w+|operator.),/gm);
    for (const [, function_, binary] of found) {
      const name = (function_ ?? binary).replace(/^operator(.)$/, (_, sign) => operators[sign]);
      if (!internal.includes(name)) names.add(name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()));
    }
  }
  assert.ok(names.size > 80, `${names.size}`);
  assert.deepEqual([...names].sort(), available.toSorted?.() ?? [...available].sort());
});
