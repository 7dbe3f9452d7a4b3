// Times one step of two plans, "one" and "many", that replay_bench wrote into a folder; prints microseconds as JSON.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const CALLS = 20000;
const ROUNDS = 60;
const folder = process.argv[2];

function load(name) {
  const { calls, slots } = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
  const memory = new WebAssembly.Memory({ initial: 4 });
  const module = new WebAssembly.Module(readFileSync(join(folder, `${name}.wasm`)));
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  new Uint32Array(memory.buffer, 0, slots.length).set(slots);
  exports.prepare(0, 512, 0, 0);
  return { step: () => exports.step(0, 512, 0, calls), times: [] };
}

const plans = { one: load('one'), many: load('many') };
for (let round = 0; round <= ROUNDS; round++) {
  for (const { step, times } of Object.values(plans)) {
    const start = performance.now();
    for (let i = 0; i < CALLS; i++) step();
    // The first round warms up.
    if (round > 0) times.push((1000 * (performance.now() - start)) / CALLS);
  }
}
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
console.log(JSON.stringify({ one: median(plans.one.times), many: median(plans.many.times) }));
