import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useTestPage } from './support.mjs';

const { run, errors } = useTestPage();

for (const numerics of ['fast', 'reproducible']) {
  test(`every operation against float64: ${numerics}`, async (t) => {
    const { problems, worst, count } = await run('jitOperations', numerics);
    t.diagnostic(`${count} cases, largest error ${worst.toExponential(1)}`);
    assert.deepEqual(problems, []);
  });

  test(`Silero v5 written in JavaScript agrees with the goldens: ${numerics}`, async (t) => {
    const { problems, worst, clips } = await run('jitSilero', numerics);
    t.diagnostic(`${clips} clips, largest difference of a probability: ${worst.toExponential(1)}`);
    assert.deepEqual(problems, []);
  });
}

test('wrappers: variables, bounds, states, buffers, growth, errors', async () => {
  assert.deepEqual(await run('jit'), []);
});

test('graphs are declared without unsafe-eval; a worker engine says why it takes none', async () => {
  assert.equal(await run('policy'), 'EvalError');
  assert.match(await run('jitInWorker'), /^Unsupported: .*createEngine\(\) in a module worker/);
});

test('the page reported no errors of its own', () => {
  assert.deepEqual(errors(), []);
});
