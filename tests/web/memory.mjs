// Memory above 2 GiB, where a signed 32-bit address would be negative; and the errors when there is none.

const GIB = 2 ** 30;

/** `count` outputs of up to `most` numbers each, all different functions of the same input. */
function wideGraph(count, most) {
  const lines = [`variables t: 1 .. ${most}`, '%0 = input f32[t] number=0 "x"'];
  let last = 0;
  const outputs = [];
  const node = (text) => {
    lines.push(`%${++last} = ${text}`);
    return last;
  };
  for (let i = 0; i < count; i++) {
    const scalar = node(`scalar f32[] value=${i + 2}`);
    const shaped = node(`expand f32[t] %${node(`reshape f32[1] %${scalar}`)}`);
    outputs.push(`%${node(`mul f32[t] %0, %${shaped}`)} "y${i}"`);
  }
  return `${lines.join('\n')}\noutputs ${outputs.join(', ')}\n`;
}

/** The sum over one input of `count` integers. */
const sumGraph = (count) => `%0 = input i32[${count}] number=0 "x"
%1 = reduce_sum i32[] %0 count=1
outputs %1 "y"
`;

async function errorOf(action) {
  try {
    await action();
    return { code: 'no error', message: '' };
  } catch (error) {
    return error;
  }
}

/** Sentences about what is wrong; empty when all is well. */
export async function checkLargeMemory(createEngine, weights) {
  const problems = [];
  const expect = (what, found, wanted) => {
    if (found !== wanted) problems.push(`${what}: ${found}, not ${wanted}`);
  };
  const engine = await createEngine();
  const vad = await engine.loadSileroVad({ weights });
  const other = await engine.loadSileroVad({ weights });
  const samples = Float32Array.from({ length: 512 }, (_, i) => 0.1 * Math.sin(i * 0.1));

  // Seven buffers of 400 MiB: the last ones begin above 2 GiB, though a run needs only a little of each.
  const most = 100 * 2 ** 20;
  const wide = engine.compileGraph(wideGraph(6, most));
  if (!(engine.counters().memoryBytes > 7 * 4 * most)) problems.push('the plan took less than its buffers need');
  for (const t of [1, 7, 1000]) {
    const x = Float32Array.from({ length: t }, (_, i) => i + 0.5);
    wide.run([x], { t }).forEach(({ data, shape }, i) => {
      expect(`extent of output ${i}`, shape.join(), String(t));
      for (let k = 0; k < t; k++) {
        if (data[k] !== x[k] * (i + 2)) return expect(`output ${i} at ${k} of ${t}`, data[k], x[k] * (i + 2));
      }
    });
  }
  expect('a step beside it', vad.step(samples), other.step(samples));

  // Objects made now lie above it.
  const late = await engine.loadSileroVad({ weights });
  const fresh = await engine.loadSileroVad({ weights });
  other.reset();
  expect('a detector above 2 GiB', late.step(samples), other.step(samples));
  expect('its profile', fresh.executeProfiled({ repetitions: 1, marks: false }).length > 0, true);

  // What is given back can be had again, and what can't be had is refused with the need, before anything is taken.
  const { memoryBytes } = engine.counters();
  wide.destroy();
  const again = engine.compileGraph(wideGraph(6, most));
  expect('memory after giving back and taking again', engine.counters().memoryBytes, memoryBytes);
  const refused = await errorOf(() => engine.compileGraph(wideGraph(6, most)));
  expect('a second one', refused.code, 'MemoryLimit');
  if (!/needs \d{10} bytes/.test(refused.message)) problems.push(`the need is not named: ${refused.message}`);
  expect('a buffer of 2 GiB', (await errorOf(() => engine.compileGraph(sumGraph(GIB / 2)))).code, 'MemoryLimit');
  again.destroy();

  // One buffer across 2 GiB, every byte of it read.
  const below = engine.compileGraph(wideGraph(1, 150 * 2 ** 20));
  const count = GIB / 4 + 64;
  const sum = engine.compileGraph(sumGraph(count));
  const ones = new Int32Array(count).fill(3);
  ones[count - 1] = 10;
  expect('a sum across 2 GiB', sum.run([ones])[0].data[0], 3 * (count - 1) + 10);
  below.destroy();
  sum.destroy();
  late.reset();
  other.reset();
  expect('a step afterwards', late.step(samples), other.step(samples));
  engine.destroy();
  problems.push(...await checkRefusal(createEngine));
  return problems;
}

/** A host that reserves addresses but has no memory behind them. */
async function checkRefusal(createEngine) {
  const problems = [];
  const engine = await createEngine();
  const grow = WebAssembly.Memory.prototype.grow;
  WebAssembly.Memory.prototype.grow = () => {
    throw new RangeError('WebAssembly.Memory.grow(): Unable to grow instance memory');
  };
  try {
    const { code, message } = await errorOf(() => engine.compileGraph(wideGraph(6, 100 * 2 ** 20)));
    if (code !== 'Device' || !/\d{10} bytes/.test(message)) problems.push(`memory that does not grow: ${code} ${message}`);
  } finally {
    WebAssembly.Memory.prototype.grow = grow;
  }
  const [{ data }] = engine.compileGraph(wideGraph(1, 4)).run([Float32Array.of(1, 2, 3)], { t: 3 });
  if (data.join() !== '2,4,6') problems.push(`after a refusal a small graph gives ${data}`);
  engine.destroy();
  return problems;
}
