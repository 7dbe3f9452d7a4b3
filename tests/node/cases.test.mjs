import assert from 'node:assert/strict';
import { test } from 'node:test';
import binaryen from 'binaryen';
import { createEngine } from '../../build/web/tandem/index.js';
import { checkCases } from '../web/checks.mjs';
import { loadExpectations } from '../web/files.mjs';

const expectations = loadExpectations();

test('every case of the table: bounds, bits, modules; Binaryen accepts what is emitted', async (t) => {
  const engine = await createEngine();
  const refused = [];
  const seen = new Set();
  const { failures, count } = checkCases(engine, expectations, (name, bytes) => {
    const key = Buffer.from(bytes).toString('base64');
    if (seen.has(key)) return;
    seen.add(key);
    const module = binaryen.readBinary(bytes, binaryen.Features.All);
    if (!module.validate()) refused.push(name);
    module.dispose();
  });
  t.diagnostic(`${count} runs, ${seen.size} different modules`);
  assert.ok(count > 1000);
  assert.deepEqual(failures.slice(0, 20), [], `${failures.length} failures`);
  assert.deepEqual(refused, []);
  engine.destroy();
});
