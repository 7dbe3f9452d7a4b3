import { checkArray, checkDtype } from './dtypes.js';
import { TandemError, describe } from './errors.js';
import { InputPort, Port } from './port.js';
import { Dim, Tensor } from './tensor.js';

const INPUT = 0;
const STATE = 1;
const OUTPUT = 2;
const KINDS = ['input', 'state', 'output'];
const BOUNDS = { max: 0, min: 1, fixed: 2 };
const DECLARATIONS = ['name', 'model', 'vars', 'inputs', 'state', 'outputs', 'build'];

function objectOf(what, value) {
  if (value === undefined) return {};
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new TandemError('InvalidArgument', `${what} is ${describe(value)}; it must be an object with names as keys`);
}

function checkKeys(what, object, allowed) {
  for (const key of Object.keys(object)) {
    if (allowed.includes(key)) continue;
    throw new TandemError('InvalidArgument', `${what} has "${key}", which is unknown; it takes ${allowed.join(', ')}`);
  }
}

/** A size that is a whole number from 0 on. */
function sizeOf(what, value, details) {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new TandemError('Variable', `${what} is ${describe(value)}; it must be a whole number from 0 on`, details);
}

/** A wrapper that is declared in JavaScript: see jit.d.ts. */
export class Jit {
  #engine;
  #handle;
  #name;
  #model;
  #build;
  #prepared = false;
  #building = false;
  /** Per kind, names in the order of declaration; of outputs those of the plan. */
  #names = [[], [], []];
  /** Inputs whose shape comes with prepare(). */
  #later = [];
  #initial = new Map();
  #variables = new Map();
  #ports = new Map();

  /** Use engine.jit(). `copied`: handle and properties of the wrapper that this one replicates. */
  constructor(engine, declaration, copied) {
    this.#engine = engine;
    if (copied) {
      this.#adoptCopy(copied);
    } else {
      this.#declare(objectOf('the declaration', declaration ?? null));
    }
    engine.adopt(this);
  }

  #adoptCopy({ handle, source }) {
    this.#handle = handle;
    this.#name = source.#name;
    this.#model = source.#model;
    this.#build = source.#build;
    this.#names = source.#names;
    this.#initial = source.#initial;
    this.#variables = source.#variables;
    this.#prepared = true;
  }

  // Declarations.

  #declare(declaration) {
    checkKeys('the declaration', declaration, DECLARATIONS);
    const { name = 'jit', model, vars, inputs, state, outputs, build } = declaration;
    if (typeof name !== 'string') throw new TandemError('InvalidArgument', `name is ${describe(name)}; it must be a string`);
    if (typeof build !== 'function') {
      throw new TandemError('InvalidArgument', `build of "${name}" is ${describe(build)}; it must be a function`);
    }
    this.#name = name;
    this.#model = model;
    this.#build = build;
    this.#handle = this.#engine.withCopies([name], (address) => this.#engine.call('tandem_jit_make', address));
    if (!this.#handle) throw this.#engine.failure();
    try {
      for (const [variable, bounds] of Object.entries(objectOf('vars', vars))) this.#declareVariable(variable, bounds);
      for (const [input, spec] of Object.entries(objectOf('inputs', inputs))) this.#declareInput(input, spec);
      for (const [slot, spec] of Object.entries(objectOf('state', state))) this.#declareState(slot, spec);
      for (const [output, dtype] of Object.entries(objectOf('outputs', outputs))) {
        if (dtype !== null) checkDtype(`output "${output}"`, dtype);
        this.#text('output', output, dtype ?? '');
      }
    } catch (error) {
      if (this.#engine.isLive) this.#call('destroy');
      throw error;
    }
  }

  #declareVariable(name, bounds) {
    if (!Array.isArray(bounds) || bounds.length !== 2) {
      throw new TandemError('Variable', `variable "${name}" is ${describe(bounds)}; it must be [min, max]`, { variable: name });
    }
    if (name === '' || name.includes('`')) {
      throw new TandemError('Variable', `a variable can't be called "${name}"`, { variable: name });
    }
    const [min, max] = bounds.map((bound, i) =>
      sizeOf(`the ${i ? 'upper' : 'lower'} bound of variable "${name}"`,
        typeof bound === 'function' ? bound(this.#model) : bound, { variable: name }));
    this.#text('variable', name, min, max);
    this.#variables.set(name, { number: this.#variables.size, min, max });
  }

  #declareInput(name, spec) {
    if (this.#variables.has(name)) {
      throw new TandemError(
        'DuplicateInputBuffer', `"${this.#name}" declares "${name}" as an input and as a variable; rename one`, { input: name });
    }
    this.#names[INPUT].push(name);
    if (spec === null) {
      this.#later.push(name);
      this.#text('input', name, '', '');
      return;
    }
    const { dtype, shape } = this.#specOf(`input "${name}"`, spec);
    this.#text('input', name, dtype, shape);
  }

  #declareState(name, spec) {
    if (this.#variables.has(name)) {
      throw new TandemError(
        'DuplicateInputBuffer', `"${this.#name}" declares "${name}" as a state and as a variable; rename one`, { state: name });
    }
    const { dtype, shape } = this.#specOf(`state "${name}"`, spec);
    const { init } = spec;
    if (init !== undefined && typeof init !== 'number') checkArray(`init of state "${name}"`, dtype, init);
    if (init !== undefined) this.#initial.set(name, init);
    this.#names[STATE].push(name);
    this.#text('state', name, dtype, shape);
  }

  /** Dtype and shape as texts; a string in a shape is the name of a variable. */
  #specOf(what, spec) {
    const { dtype, shape } = objectOf(what, spec);
    checkDtype(what, dtype);
    const dims = typeof shape === 'function' ? shape(this.#dims()) : shape;
    if (!Array.isArray(dims)) {
      throw new TandemError('InvalidArgument', `the shape of ${what} is ${describe(dims)}; it must be an array`);
    }
    const texts = dims.map((dim, i) => {
      if (typeof dim !== 'string') return Dim.textOf(`dimension ${i} of ${what}`, dim);
      if (this.#variables.has(dim)) return '`' + dim + '`';
      throw this.#unknownVariable(dim, `dimension ${i} of ${what}`);
    });
    return { dtype, shape: texts.join(';') };
  }

  #dims() {
    const dims = {};
    for (const name of this.#variables.keys()) {
      dims[name] = Dim.join(this.#engine, this.#handle, '+', '`' + name + '`', '0');
    }
    return Object.freeze(dims);
  }

  #unknownVariable(name, where) {
    const known = [...this.#variables.keys()];
    return new TandemError(
      'Variable',
      `${where} of "${this.#name}" names the variable "${name}", which is unknown; ` +
        (known.length ? `declared: ${known.join(', ')}` : 'no variable is declared'),
      { variable: name },
    );
  }

  // Bounds.

  /** The variables with their bounds as they are now. */
  get variables() {
    return Object.fromEntries([...this.#variables].map(([name, { min, max }]) => [name, { min, max }]));
  }

  withBound(name, max) {
    return this.#setBound('max', name, max);
  }
  withMinBound(name, min) {
    return this.#setBound('min', name, min);
  }
  withFixed(name, value) {
    return this.#setBound('fixed', name, value);
  }

  #setBound(bound, name, value) {
    const variable = this.#variables.get(name);
    if (!variable) throw this.#unknownVariable(name, 'a bound');
    if (!Number.isSafeInteger(value)) {
      throw new TandemError('InvalidArgument', `a bound of "${name}" is ${describe(value)}; it must be a whole number`,
        { variable: name });
    }
    const done = this.#engine.withCopies([name], (address) => this.#call('bound', BOUNDS[bound], address, value));
    if (!done) throw this.#engine.failure({ variable: name, value });
    const { min, max } = variable;
    Object.assign(variable, bound === 'fixed' ? { min: value, max: value } : { min, max, [bound]: value });
    return this;
  }

  // Preparing.

  get isPrepared() {
    return this.#prepared;
  }

  prepare(specs = {}, options = {}) {
    this.#refuseWhileBuilding('prepare()');
    checkKeys('prepare()', objectOf('the shapes', specs), this.#later);
    checkKeys('the options of prepare()', objectOf('the options of prepare()', options), ['isa', 'numerics', 'memoryLimit']);
    const lines = this.#later.map((name) => {
      if (specs[name] === undefined) {
        throw new TandemError(
          'Tensor', `input "${name}" of "${this.#name}" has no shape; give it: prepare({ ${name}: f32([1, 2]) })`, { input: name });
      }
      const { dtype, shape } = this.#specOf(`input "${name}"`, specs[name]);
      return `${dtype} ${shape}\n`;
    });
    const engine = this.#engine;
    engine.stopWarmUp();
    const limit = options.memoryLimit === undefined ? 0 : sizeOf('memoryLimit', options.memoryLimit, {});
    const reproducible = engine.numericsOf(options);
    const frame = { handle: this.#handle, run: () => this.#runBuild(), thrown: undefined };
    this.#building = true;
    engine.operations.building.push(frame);
    let done;
    try {
      done = engine.withCopies([lines.join(''), engine.isaOf(options)], (text, isa) =>
        this.#call('prepare', text, isa, reproducible, limit));
    } finally {
      engine.operations.building.pop();
      this.#building = false;
    }
    if (!done) throw this.#buildError(frame.thrown);
    this.#prepared = true;
    for (let i = this.#call('output_count') - 1; i >= 0; i--) this.#names[OUTPUT].unshift(this.#describe(OUTPUT, i).name);
    this.#initialize();
    return this;
  }

  #buildError(thrown) {
    const failure = this.#engine.failure();
    if (thrown === undefined || failure.code !== 'Build') return failure;
    failure.cause = thrown.error;
    return failure;
  }

  #refuseWhileBuilding(method) {
    if (!this.#building) return;
    throw new TandemError('InvalidArgument', `${method} of "${this.#name}" was called in its own build function`);
  }

  #runBuild() {
    const engine = this.#engine;
    const values = { ...this.#dims() };
    for (const kind of [INPUT, STATE]) {
      for (const name of this.#names[kind]) {
        const found = engine.withCopies([name], (address) => this.#call('argument', address));
        if (!found) throw engine.failure();
        values[name] = Tensor.read(engine, this.#handle, engine.text(found));
      }
    }
    const results = this.#build.call(undefined, Object.freeze(values), engine.operations.functions, this.#model);
    if (results instanceof Tensor) {
      this.#result('', results);
      return;
    }
    if (typeof results?.then === 'function') {
      results.then(undefined, () => {});
      throw new TandemError('Tensor', 'it returned a promise; load what it needs before prepare(), and return tensors');
    }
    if (results === null || typeof results !== 'object' || Array.isArray(results)) {
      throw new TandemError('Tensor', `it returned ${describe(results)}; return a Tensor, or an object of them by name`);
    }
    for (const [name, tensor] of Object.entries(results)) this.#result(name, tensor);
  }

  #result(name, tensor) {
    const engine = this.#engine;
    const number = Tensor.numberOf(engine, `its result${name && ` "${name}"`}`, tensor);
    const done = engine.withCopies([name], (address) => engine.call('tandem_jit_result', address, number));
    if (!done) throw engine.failure();
  }

  /** A second wrapper with the same code and weights, and buffers of its own that start as copies of these. */
  replicate() {
    const handle = this.#call('replicate');
    if (!handle) throw this.#engine.failure();
    return new Jit(this.#engine, null, { handle, source: this });
  }

  // Steps.

  execute() {
    this.#finish(this.#call('execute'));
  }

  executeWithVars(values) {
    for (const name of Object.keys(objectOf('the variables', values))) this.#checkValue(name, values[name]);
    for (const name of Object.keys(values)) this.#call('give', this.#variables.get(name).number, values[name]);
    this.#finish(this.#call('execute'));
  }

  #checkValue(name, value) {
    const variable = this.#variables.get(name);
    if (!variable) throw this.#unknownVariable(name, 'executeWithVars()');
    const { min, max } = variable;
    if (Number.isSafeInteger(value) && value >= min && value <= max) return;
    throw new TandemError(
      'Variable',
      `variable "${name}" = ${typeof value === 'number' ? value : describe(value)} of "${this.#name}" must be a whole ` +
        `number from ${min} to ${max}`,
      { variable: name, value, min, max },
    );
  }

  #finish(status) {
    if (status !== 1) throw this.#engine.failure();
  }

  /**
   * Copies the inputs that are given (arrays, or { data, shape } for a live shape), executes and gives the first output's
   * elements, which stand until the next execute.
   */
  step(inputs = {}, values = {}) {
    for (const [name, value] of Object.entries(objectOf('the inputs', inputs))) {
      const port = this.input(name);
      if (ArrayBuffer.isView(value) || value?.data === undefined) port.copyFrom(value);
      else port.copyFrom(value.data, value.shape);
    }
    this.executeWithVars(values);
    return this.#names[OUTPUT].length ? this.output().data : undefined;
  }

  /** The states as they were after prepare(). */
  reset() {
    this.#finish(this.#call('reset'));
    this.#initialize();
  }

  #initialize() {
    for (const [name, init] of this.#initial) {
      if (typeof init === 'number') this.state(name).fill(init);
      else this.state(name).copyFrom(init);
    }
  }

  // Buffers.

  input(name) {
    return this.#port(INPUT, name);
  }
  state(name) {
    return this.#port(STATE, name);
  }
  /** Without a name the first one. */
  output(name = this.#names[OUTPUT][0]) {
    return this.#port(OUTPUT, name);
  }

  #describe(kind, number) {
    const found = this.#call('port', kind, number);
    if (!found) throw this.#engine.failure();
    const [name, dtype, shape] = this.#engine.text(found).split('\t');
    return { name, dtype, shape: shape === '' ? [] : shape.split(';').map(Number) };
  }

  #port(kind, name) {
    this.#checkLive();
    if (!this.#prepared) {
      throw new TandemError(
        'NotPrepared', `an access to "${this.#name}" (${KINDS[kind]}) came before a successful prepare(); prepare it first`);
    }
    const key = KINDS[kind] + ' ' + name;
    const known = this.#ports.get(key);
    if (known) return known;
    const number = this.#names[kind].indexOf(name);
    if (number < 0) {
      throw new TandemError(
        kind === OUTPUT ? 'NotFound' : 'InputBufferNotFound',
        `"${this.#name}" has no ${KINDS[kind]} ${describe(name)}; it has ${this.#names[kind].join(', ') || 'none'}`,
        { [KINDS[kind]]: name },
      );
    }
    const { dtype } = this.#describe(kind, number);
    const read = () => {
      const address = this.#call('data', kind, number);
      const { shape } = this.#describe(kind, number);
      return { address, shape };
    };
    const copy = (array, shape) => {
      const engine = this.#engine;
      const done = engine.withCopies([dtype, array, shape.join(';')], (type, address, dims) =>
        this.#call('copy', kind, number, type, address, array.length, dims));
      if (!done) throw engine.failure({ [KINDS[kind]]: name });
    };
    const port = kind === OUTPUT ? new Port(this.#engine, read, name, dtype)
      : new InputPort(this.#engine, read, name, dtype, copy);
    this.#ports.set(key, port);
    return port;
  }

  /** Is the first output [head | h | c]? For JitRecurrent. */
  checkRecurrent(head, h, c) {
    if (!this.#call('check_recurrent', head, h, c)) throw this.#engine.failure();
  }

  /** The WebAssembly module that was emitted. */
  moduleBytes() {
    const size = this.#call('module_size');
    return this.#engine.view(Uint8Array, this.#call('module'), size).slice();
  }

  destroy() {
    if (!this.#handle) return;
    this.#refuseWhileBuilding('destroy()');
    if (this.#engine.isLive) this.#call('destroy');
    this.#handle = 0;
    this.#engine.forget(this);
  }

  #checkLive() {
    if (!this.#handle) throw new TandemError('Destroyed', `"${this.#name}" was destroyed; declare it again`);
    this.#engine.check();
  }

  #call(name, ...values) {
    this.#checkLive();
    return this.#engine.call('tandem_jit_' + name, this.#handle, ...values);
  }

  /** tandem_jit_variable and the like: texts and numbers of one declaration. */
  #text(name, ...values) {
    const engine = this.#engine;
    const texts = values.filter((value) => typeof value === 'string');
    const numbers = values.filter((value) => typeof value === 'number');
    const done = engine.withCopies(texts, (...addresses) => this.#call(name, ...addresses, ...numbers));
    if (!done) throw engine.failure();
  }
}

/** Runs the build function of the innermost wrapper; C++ calls it, and an error must not pass through there. */
export function buildFor(engine) {
  return (handle) => {
    const frame = engine.operations.building.at(-1);
    try {
      frame.run();
      return 1;
    } catch (error) {
      frame.thrown = { error };
      try {
        engine.withCopies([String(error?.message ?? error)], (address) => engine.call('tandem_jit_refuse', handle, address));
      } catch {
        // The engine is broken or destroyed; what prepare() throws says so.
      }
      return 0;
    }
  };
}
