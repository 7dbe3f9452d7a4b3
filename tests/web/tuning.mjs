// Tuning: tiles that a store keeps are what plans are made with, and whatever the store does, a plan is made.

const ROWS = 40;
const WIDTH = 96;
/** Some of these are candidates. */
const TILES = [1, 2, 3, 4, 5, 6].flatMap((rows) => [4, 8, 12, 16, 20, 24].map((width) => `${rows}x${width}`));

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

/** Compares, and says in sentences what was wrong. */
function comparison() {
  const problems = [];
  const same = (what, found, wanted) => {
    if (String(found) !== String(wanted)) problems.push(`${what}: ${found}, not ${wanted}`);
  };
  return { problems, same };
}

const optionsOf = (options) => ({ warmUp: false, numerics: 'reproducible', ...options });

async function withEngine(createEngine, options, work) {
  const engine = await createEngine(optionsOf(options));
  try {
    return await work(engine);
  } finally {
    engine.destroy();
  }
}

/** Where a browser keeps tiles by itself; `kept()` waits until there are some. */
async function browserTiles() {
  const address = new URL('/tandem-tiles', location.origin).href;
  const cache = await caches.open('tandem');
  const forget = () => cache.delete(address);
  const kept = async () => {
    for (let i = 0; i < 200 && !(await cache.match(address)); i++) await new Promise((resolve) => setTimeout(resolve, 5));
    return (await cache.match(address))?.text();
  };
  return { cache, address, forget, kept };
}

/** How many tiles a tuned detector in a worker leaves for the next visit. */
export async function tilesOfWorker(createWorkerEngine, weights) {
  const { forget, kept } = await browserTiles();
  await forget();
  const engine = await createWorkerEngine({ tune: true });
  const vad = await engine.loadSileroVad({ weights });
  const probability = await vad.step(new Float32Array(512));
  const text = await kept();
  await engine.destroy();
  return { tiles: text ? text.trim().split('\n').length : 0, probability };
}

/** What is wrong with what a browser keeps by itself: an engine without a store of its own, in a page. */
export async function checkKeptTiles(createEngine) {
  const { problems, same } = comparison();
  const { cache, address, forget, kept } = await browserTiles();
  const visit = (options, work) => withEngine(createEngine, options, async (engine) => {
    const result = layers(engine);
    await work?.();
    return result;
  });

  await forget();
  const plain = await visit({});
  same('what a plan that is not tuned leaves', await cache.match(address), undefined);
  let text;
  const tuned = await visit({ tune: true }, async () => {
    text = await kept();
  });
  same('kept lines', (text ?? '').split('\n').length, 2);
  same('kept tile', (text ?? '').trim().split('\t')[1], tuned.tile);
  same('bits of a tuned plan', tuned.y, plain.y);
  // The next visit takes what it finds: here one that the first did not choose.
  const put = (tile, browser) =>
    cache.put(address, new Response((text ?? '').replace(/\t.*/, `\t${tile}`), { headers: { 'x-browser': browser } }));
  let taken = 0;
  for (const tile of TILES) {
    if (taken === 2 || tile === tuned.tile || tile === plain.tile) continue;
    await put(tile, navigator.userAgent);
    const again = await visit({ tune: true });
    same(`bits with the tile ${tile}`, again.y, plain.y);
    if (again.tile === tile) taken++;
  }
  same('tiles that a next visit took', taken, 2);
  // What another version of the browser has measured is measured again.
  await put(tuned.tile, 'another browser');
  const measured = await visit({ tune: true }, async () => {
    for (let i = 0; i < 200; i++) {
      if ((await cache.match(address)).headers.get('x-browser') === navigator.userAgent) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
  const response = await cache.match(address);
  same('browser that has measured', response.headers.get('x-browser'), navigator.userAgent);
  same('tile that it kept', (await response.text()).trim().split('\t')[1], measured.tile);
  await forget();
  return problems;
}

/** What is wrong, as sentences. */
export async function checkTuning(createEngine) {
  const { problems, same } = comparison();
  const make = (options) => createEngine(optionsOf(options));
  const withTiles = (options, work) => withEngine(createEngine, options, work);

  const unused = storeOf();
  const plain = await withTiles({ tileStore: unused }, (engine) => layers(engine));
  same('writes of a plan that is not tuned', await unused.written(), 0);
  const first = storeOf();
  const tuned = await withTiles({ tune: true, tileStore: first }, async (engine) => {
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
  for (const tile of TILES) {
    if (others === 3 || tile === plain.tile) continue;
    const store = storeOf((first.text ?? '').replace(/\t.*/, `\t${tile}`));
    const result = await withTiles({ tune: true, tileStore: store }, (engine) => layers(engine));
    same(`bits with the tile ${tile}`, result.y, plain.y);
    if (result.tile !== tile) continue;
    others++;
    same(`writes where ${tile} was known`, await store.written(), 0);
  }
  if (others < 3) problems.push(`a plan took ${others} of the tiles that were kept`);

  const damaged = storeOf('no\ttile\nat all\u0000\t\t');
  await withTiles({ tune: true, tileStore: damaged }, async (engine) => {
    same('bits with a damaged text', layers(engine).y, plain.y);
    same('writes over a damaged text', await damaged.written(), 1);
  });
  const broken = { read: () => Promise.reject(new Error('no')), write: () => Promise.reject(new Error('no')) };
  await withTiles({ tune: true, tileStore: broken }, (engine) => same('bits with a broken store', layers(engine).y, plain.y));
  // One plan alone.
  const alone = storeOf();
  await withTiles({ tileStore: alone }, async (engine) => {
    layers(engine, { tune: true });
    same('writes of the only tuned plan', await alone.written(), 1);
  });
  for (const [options, word] of [[{ tune: 'yes' }, 'tune'], [{ tileStore: {} }, 'tileStore']]) {
    const error = await make(options).then(() => undefined, (refused) => refused);
    if (error?.code !== 'InvalidArgument' || !error.message.includes(word)) problems.push(`${word}: ${error}`);
  }
  return problems;
}
