// Arrays of inputs, states and outputs, and profiles, of graphs that are declared in JavaScript.

const f32 = (shape) => ({ dtype: 'f32', shape });
const arrayOf = (count, spec = {}) => ({ ...spec, count });

/** Bands of different widths, whose shapes come with prepare(), lanes with a variable, and arrays of states and outputs. */
function bank(engine) {
  return engine.jit({
    name: 'bank', model: { bands: 3 }, vars: { t: [1, 4] },
    inputs: { gain: null, bands: arrayOf((model) => model.bands), offset: f32([1]), lanes: arrayOf(2, f32(['t'])) },
    state: { totals: { ...arrayOf(2, f32([1])), init: 1 }, steps: { dtype: 'i32', shape: [], init: 5 } },
    outputs: { all: null, sums: { count: 2, dtype: 'f32' }, none: arrayOf(0) },
    build({ gain, bands, offset, lanes, totals, steps }, { concat }) {
      const next = totals.map((total, i) => total.add(lanes[i].sum([0], true)));
      const others = bands.slice(1).reduce((sum, band) => sum.add(band.slice(0, 0, 1)), concat(bands, 0));
      return {
        sums: lanes.map((lane, i) => lane.add(next[i])), totals: next, steps: steps.add(1), none: [],
        all: others.mul(gain).add(offset),
      };
    },
  });
}

export function checkArrays(engine, { same, refuses }) {
  const jit = bank(engine);
  refuses('an element before prepare', 'NotPrepared', ['bank'], () => jit.input('bands', 0));
  refuses('too few specs', 'Tensor', ['"bands"', '2 InputSpecs for 3'], () =>
    jit.prepare({ gain: f32([1]), bands: [f32([1]), f32([2])] }));
  refuses('a list of specs for one input', 'Tensor', ['"gain"', 'list'], () =>
    jit.prepare({ gain: [f32([1])], bands: f32([1]) }));
  refuses('a wrong spec of an element', 'Tensor', ['"bands[1]"'], () =>
    jit.prepare({ gain: f32([1]), bands: [f32([1]), f32([0]), f32([3])] }));
  jit.prepare({ gain: f32([1]), bands: [f32([1]), f32([2]), f32([3])] });
  const step = () => jit.step({
    gain: Float32Array.of(10), offset: Float32Array.of(0.5),
    bands: [Float32Array.of(1), Float32Array.of(2, 3), { data: Float32Array.of(4, 5, 6), shape: [3] }],
    lanes: [{ data: Float32Array.of(1, 2), shape: [2] }, { data: Float32Array.of(10, 20), shape: [2] }],
  }, { t: 2 });
  // (1 .. 6 and 2 and 4) times 10 plus 0.5
  same('bands together', step(), [70.5, 80.5, 90.5, 100.5, 110.5, 120.5]);
  same('sums of lanes', [...jit.output('sums', 0).data, ...jit.output('sums', 1).as('f32')], [5, 6, 41, 51]);
  same('states', [0, 1].map((i) => jit.state('totals', i).data[0]), [4, 31]);
  same('counts', [jit.inputCount('bands'), jit.stateCount('totals'), jit.outputCount('sums'), jit.outputCount('none')],
    [3, 2, 2, 0]);
  same('names', [jit.input('bands', 2).name, jit.output('sums', 1).name, jit.output().name], ['bands[2]', 'sums[1]', 'all']);
  same('shapes', [0, 1, 2].map((i) => jit.input('bands', i).shape[0]), [1, 2, 3]);
  step();
  same('the next states', [0, 1].map((i) => jit.state('totals', i).data[0]), [7, 61]);
  const copy = jit.replicate();
  jit.reset();
  same('states after reset', [jit.state('totals', 1).data[0], jit.state('steps').data[0]], [1, 5]);
  same('states of a replica', [copy.state('totals', 1).data[0], copy.state('steps').data[0]], [61, 7]);
  copy.destroy();
  jit.input('lanes', 1).fill(100);
  jit.execute();
  same('an element that was filled', jit.output('sums', 1).data, [501, 501, 501, 501]);

  refuses('an index beyond the end', 'InputBufferNotFound', ['"bands[3]"', 'bank', '3 elements'], () => jit.input('bands', 3));
  refuses('a broken index', 'InputBufferNotFound', ['"lanes[0.5]"'], () => jit.input('lanes', 0.5));
  refuses('an index below 0', 'InputBufferNotFound', ['"totals[-1]"'], () => jit.state('totals', -1));
  const beyond = refuses('an output beyond the end', 'NotFound', ['"sums[2]"', '2 elements'], () => jit.output('sums', 2));
  same('its name', beyond?.output, 'sums');
  refuses('an element of an empty array', 'NotFound', ['"none[0]"', '0 elements'], () => jit.output('none', 0));
  refuses('an array without index', 'InputBufferNotFound', ['"bands"', 'index'], () => jit.input('bands'));
  refuses('an index for one', 'InputBufferNotFound', ['"gain"', 'no array'], () => jit.input('gain', 0));
  refuses('a count of one', 'InputBufferNotFound', ['"gain"', 'bands, lanes'], () => jit.inputCount('gain'));
  refuses('a step with too few', 'InvalidArgument', ['"bands"', 'Array of 2', '3'], () =>
    jit.step({ bands: [new Float32Array(1), new Float32Array(2)] }));
  refuses('a step with one', 'InvalidArgument', ['"bands"', 'Float32Array'], () => jit.step({ bands: new Float32Array(3) }));
  refuses('too many elements', 'ViewOutOfBounds', ['"bands[1]"', '2', '3'], () =>
    jit.input('bands', 1).copyFrom(new Float32Array(3)));
  jit.destroy();

  const one = bank(engine).prepare({ gain: f32([1]), bands: f32([2]) });
  same('one spec for all', [0, 1, 2].map((i) => one.input('bands', i).size), [2, 2, 2]);
  one.destroy();
  const free = engine.jit({ inputs: { x: f32([3]) }, build: ({ x }) => ({ parts: x.split(0, [1, 2]), y: x.neg() }) }).prepare();
  same('an array that is only returned', [...free.step({ x: Float32Array.of(1, 2, 3) }), ...free.output('parts', 1).data],
    [1, 2, 3]);
  free.destroy();
  const declared = (count, build) => () =>
    engine.jit({ inputs: { x: arrayOf(count, f32([2])) }, outputs: { y: arrayOf(2) }, build }).prepare();
  refuses('one result too few', 'Build', ['"y[1]"'], declared(2, ({ x }) => ({ y: [x[0].add(x[1])] })));
  refuses('one result too many', 'Build', ['"y[2]"'], declared(2, ({ x }) => ({ y: [...x, x[0]] })));
  refuses('one result for an array', 'Build', ['"y"'], declared(2, ({ x }) => ({ y: x[0].add(x[1]) })));
  refuses('an array as a tensor', 'Build', ['x'], declared(2, (values) => ({ y: [values.x.add(1), values.x[0]] })));
  refuses('an ignored element', 'InputBufferNotFound', ['"x[1]"'], declared(2, ({ x }) => ({ y: [x[0], x[0].neg()] })));
  refuses('a negative count', 'Tensor', ['"x"', '-1', '4096'], declared(-1, () => ({ y: [] })));
  refuses('too large a count', 'Tensor', ['"x"', '4097'], declared(4097, () => ({ y: [] })));
  refuses('a count that is no number', 'InvalidArgument', ['"x"', '"2"'], declared('2', () => ({ y: [] })));
}

/** A profile is one execute: what it leaves is what an execute leaves. */
export function checkProfile(engine, { same, refuses }) {
  const make = () => engine.jit({
    name: 'sums', vars: { t: [1, 64] }, inputs: { x: f32([8, 't']), w: f32([16, 8]) },
    state: { total: { dtype: 'f32', shape: [16], init: 2 } },
    build: ({ x, w, total }) => {
      const y = w.matmul(x);
      return { y, total: total.add(y.sum([1])) };
    },
  }).prepare();
  const [jit, other] = [make(), make()];
  refuses('a profile before prepare', 'NotPrepared', ['early'], () =>
    engine.jit({ name: 'early', inputs: { x: f32([1]) }, build: ({ x }) => x.neg() }).executeProfiled());
  for (const one of [jit, other]) {
    one.input('x').copyFrom(Float32Array.from({ length: 8 * 30 }, (_, i) => Math.sin(i)), [8, 30]);
    one.input('w').copyFrom(Float32Array.from({ length: 16 * 8 }, (_, i) => Math.cos(i)));
    one.executeWithVars({ t: 30 });
  }
  const rows = jit.executeWithVarsProfiled({ t: 30 }, { repetitions: 7, marks: false });
  other.executeWithVars({ t: 30 });
  same('the output of a profile', jit.output('y').data, other.output('y').data);
  same('its shape', jit.output('y').shape, [16, 30]);
  same('the state after a profile', jit.state('total').data, other.state('total').data);
  const flops = (all) => all.reduce((sum, row) => sum + row.flops, 0);
  same('fields', Object.keys(rows[0]), ['kernel', 'origin', 'flops', 'bytes', 'seconds', 'share']);
  same('operations of a product and a sum', flops(rows) >= 2 * 16 * 8 * 30 && flops(rows) <= 2 * 16 * 8 * 30 + 2 * 16 * 30 + 32,
    true);
  const most = jit.executeProfiled({ repetitions: 2, marks: false });
  other.execute();
  same('the shape without values', jit.output('y').shape, [16, 64]);
  same('more operations at the upper bound', flops(most) > 2 * flops(rows), true);
  same('the state after it', jit.state('total').data, other.state('total').data);
  refuses('a value out of bounds', 'Variable', ['"t"', '65'], () => jit.executeWithVarsProfiled({ t: 65 }));
  refuses('broken repetitions', 'InvalidArgument', ['repetitions', '0'], () => jit.executeProfiled({ repetitions: 0 }));
  jit.execute();
  other.execute();
  same('an execute after refused profiles', jit.output('y').shape, [16, 64]);
  same('its state', jit.state('total').data, other.state('total').data);
  jit.destroy();
  other.destroy();
  refuses('a profile of what was destroyed', 'Destroyed', ['sums'], () => jit.executeProfiled());
}
