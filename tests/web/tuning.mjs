// Tuning: tiles that a store keeps are what plans are made with, and whatever the store does, a plan is made.

const ROWS = 40;
const WIDTH = 96;

function layers(engine, options) {
  const weights = Float32Array.from({ length: WIDTH * WIDTH }, (_, i) => (((i * 37) % 101) - 50) / 400);
  const jit = engine.jit({
    name: 'layers', vars: { t: [1, ROWS] }, inputs: { x: { dtype: 'f32', shape: ['t', WIDTH] } },
    build: ({ x }, { constant }) => x.matmul(constant(weights, [WIDTH, WIDTH])).relu(),
  }).prepare({}, options);
  jit.input('x').copyFrom(Float32Array.from({ length: 37 * WIDTH }, (_, i) => ((i % 29) - 14) / 7), [37, WIDTH]);
  jit.executeWithVars({ t: 37 });
  const y = Float32Array.from(jit.output().data);
  const kernels = jit.executeProfiled().map(({ kernel }) => kernel).join(' ');
  return { y, tile: /_tile_(\d+x\d+)/.exec(kernels)[1] };
}

/** A store in memory; `written()` waits until something new has been kept. */
function storeOf(text) {
  const store = {
    text, writes: 0,
    read: async () => store.text,
    write(next) {
      store.text = next;
      store.writes++;
    },
    async written() {
      for (let i = 0; i < 50 && store.writes === 0; i++) await new Promise((resolve) => setTimeout(resolve, 1));
      return store.writes;
    },
  };
  return store;
}

/** What is wrong, as sentences. */
export async function checkTuning(createEngine) {
  const problems = [];
  const same = (what, found, wanted) => {
    if (String(found) !== String(wanted)) problems.push(`${what}: ${found}, not ${wanted}`);
  };
  const make = (options) => createEngine({ warmUp: false, numerics: 'reproducible', ...options });
  const withEngine = async (options, work) => {
    const engine = await make(options);
    try {
      return await work(engine);
    } finally {
      engine.destroy();
    }
  };

  const unused = storeOf();
  const plain = await withEngine({ tileStore: unused }, (engine) => layers(engine));
  same('writes of a plan that is not tuned', await unused.written(), 0);
  const first = storeOf();
  const tuned = await withEngine({ tune: true, tileStore: first }, async (engine) => {
    const result = layers(engine);
    same('writes of a first plan', await first.written(), 1);
    layers(engine);
    same('writes after the same plan again', await first.written(), 1);
    return result;
  });
  same('bits of a tuned plan', tuned.y, plain.y);
  same('kept lines', (first.text ?? '').split('\n').length, 2);
  same('kept tile', (first.text ?? '').trim().split('\t')[1], tuned.tile);

  // Another visit, to which an earlier one has left another tile.
  let others = 0;
  for (let rows = 1; rows <= 6; rows++) {
    for (let width = 4; width <= 24; width += 4) {
      const tile = `${rows}x${width}`;
      if (tile === plain.tile) continue;
      const store = storeOf((first.text ?? '').replace(/\t.*/, `\t${tile}`));
      const result = await withEngine({ tune: true, tileStore: store }, (engine) => layers(engine));
      same(`bits with the tile ${tile}`, result.y, plain.y);
      if (result.tile !== tile) continue;
      others++;
      same(`writes where ${tile} was known`, await store.written(), 0);
      if (others === 3) rows = width = 100;
    }
  }
  if (others < 3) problems.push(`a plan took ${others} of the tiles that were kept`);

  const damaged = storeOf('no\ttile\nat all\u0000\t\t');
  await withEngine({ tune: true, tileStore: damaged }, async (engine) => {
    same('bits with a damaged text', layers(engine).y, plain.y);
    same('writes over a damaged text', await damaged.written(), 1);
  });
  const broken = { read: () => Promise.reject(new Error('no')), write: () => Promise.reject(new Error('no')) };
  await withEngine({ tune: true, tileStore: broken }, (engine) => same('bits with a broken store', layers(engine).y, plain.y));
  // One plan alone.
  const alone = storeOf();
  await withEngine({ tileStore: alone }, async (engine) => {
    layers(engine, { tune: true });
    same('writes of the only tuned plan', await alone.written(), 1);
  });
  for (const [options, word] of [[{ tune: 'yes' }, 'tune'], [{ tileStore: {} }, 'tileStore']]) {
    const error = await make(options).then(() => undefined, (refused) => refused);
    if (error?.code !== 'InvalidArgument' || !error.message.includes(word)) problems.push(`${word}: ${error}`);
  }
  return problems;
}
