import { checkArray, checkDtype } from './dtypes.js';
import { TandemError, checkKeys, describe, objectOf, optionsOf, sizeOf } from './errors.js';
import { INPUT, KINDS, Names, OUTPUT, STATE, declarationOf, elementName, isArraySpec } from './jit_names.js';
import { InputPort, Port } from './port.js';
import { profiled } from './profile.js';
import { Dim, Tensor } from './tensor.js';

const BOUNDS = { max: 0, min: 1, fixed: 2 };

/** A wrapper that is declared in JavaScript: see jit.d.ts. */
export class Jit {
  #engine;
  #handle;
  #name;
  #model;
  #build;
  #prepared = false;
  #building = false;
  #names;
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
      this.#declare(declarationOf(declaration));
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
    const { name = 'jit', model, vars, inputs, state, outputs, build } = declaration;
    if (typeof name !== 'string') throw new TandemError('InvalidArgument', `name is ${describe(name)}; it must be a string`);
    if (typeof build !== 'function') {
      throw new TandemError('InvalidArgument', `build of "${name}" is ${describe(build)}; it must be a function`);
    }
    this.#name = name;
    this.#names = new Names(name);
    this.#model = model;
    this.#build = build;
    this.#handle = this.#engine.withCopies([name], (address) => this.#engine.call('tandem_jit_make', address));
    if (!this.#handle) throw this.#engine.failure();
    try {
      for (const [variable, bounds] of Object.entries(objectOf('vars', vars))) this.#declareVariable(variable, bounds);
      for (const [input, spec] of Object.entries(objectOf('inputs', inputs))) this.#declareInput(input, spec);
      for (const [slot, spec] of Object.entries(objectOf('state', state))) this.#declareState(slot, spec);
      for (const [output, spec] of Object.entries(objectOf('outputs', outputs))) this.#declareOutput(output, spec);
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
    const isLater = spec === null || (isArraySpec(spec) && spec.dtype === undefined && spec.shape === undefined);
    if (isLater) this.#later.push(name);
    const { dtype, shape } = isLater ? { dtype: '', shape: '' } : this.#specOf(`input "${name}"`, spec);
    this.#declareOneOrMore(INPUT, name, spec, dtype, shape);
  }

  #declareOutput(name, spec) {
    const isArray = isArraySpec(spec);
    const dtype = isArray ? spec.dtype ?? null : spec;
    if (dtype !== null) checkDtype(`output "${name}"`, dtype);
    if (isArray) this.#declareArray(OUTPUT, name, spec, dtype ?? '', '');
    else this.#text('output', name, dtype ?? '');
  }

  #declareOneOrMore(kind, name, spec, dtype, shape) {
    if (isArraySpec(spec)) {
      this.#names.addArray(kind, name, this.#declareArray(kind, name, spec, dtype, shape));
      return;
    }
    this.#text(KINDS[kind], name, dtype, shape);
    this.#names.add(kind, name);
  }

  /** How many elements the array has; a number that can't be is an error of prepare(). */
  #declareArray(kind, name, { count }, dtype, shape) {
    const size = typeof count === 'function' ? count(this.#model) : count;
    if (!Number.isSafeInteger(size)) {
      throw new TandemError(
        'InvalidArgument', `the count of the array "${name}" of "${this.#name}" is ${describe(size)}; it must be a whole number`,
        { [KINDS[kind]]: name });
    }
    const engine = this.#engine;
    const declared = engine.withCopies([name, dtype, shape], (...texts) => this.#call('array', kind, ...texts, size));
    if (declared < 0) throw engine.failure();
    return declared;
  }

  #declareState(name, spec) {
    if (this.#variables.has(name)) {
      throw new TandemError(
        'DuplicateInputBuffer', `"${this.#name}" declares "${name}" as a state and as a variable; rename one`, { state: name });
    }
    const { dtype, shape } = this.#specOf(`state "${name}"`, spec);
    const { init } = spec;
    if (init !== undefined && typeof init !== 'number') checkArray(`init of state "${name}"`, dtype, init);
    this.#declareOneOrMore(STATE, name, spec, dtype, shape);
    if (init === undefined) return;
    for (const each of this.#names.elements(STATE, name)) this.#initial.set(each, init);
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

  prepare(specs = {}, given = {}) {
    this.#refuseWhileBuilding('prepare()');
    checkKeys('prepare()', objectOf('the shapes', specs), this.#later);
    const options = optionsOf('prepare()', given, ['isa', 'numerics', 'tune', 'memoryLimit']);
    const lines = this.#later.map((name) => {
      if (specs[name] === undefined) {
        throw new TandemError(
          'Tensor', `input "${name}" of "${this.#name}" has no shape; give it: prepare({ ${name}: f32([1, 2]) })`, { input: name });
      }
      const shapes = specs[name];
      const textOf = (what, spec) => Object.values(this.#specOf(what, spec)).join(' ');
      if (!Array.isArray(shapes)) return textOf(`input "${name}"`, shapes) + '\n';
      return `[${shapes.map((spec, i) => textOf(`input "${elementName(name, i)}"`, spec)).join('|')}\n`;
    });
    const engine = this.#engine;
    engine.stopWarmUp();
    const limit = options.memoryLimit === undefined ? 0 : sizeOf('memoryLimit', options.memoryLimit, {});
    const mode = engine.modeOf(options);
    const frame = { handle: this.#handle, run: () => this.#runBuild(), thrown: undefined };
    this.#building = true;
    engine.operations.building.push(frame);
    let done;
    try {
      done = engine.withCopies([lines.join(''), engine.isaOf(options)], (text, isa) =>
        this.#call('prepare', text, isa, mode, limit));
    } finally {
      engine.operations.building.pop();
      this.#building = false;
    }
    if (!done) throw this.#buildError(frame.thrown);
    engine.keepTiles(options);
    this.#prepared = true;
    for (let i = 0; i < this.#call('output_count'); i++) this.#names.add(OUTPUT, this.#describe(OUTPUT, i).name);
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
    this.#names.forgetOutputs();
    for (const kind of [INPUT, STATE]) {
      for (const name of this.#names.all(kind)) {
        const found = engine.withCopies([name], (address) => this.#call('argument', address));
        if (!found) throw engine.failure();
        values[name] = Tensor.read(engine, this.#handle, engine.text(found));
      }
      for (const name of this.#names.arrays(kind)) {
        values[name] = Object.freeze(this.#names.elements(kind, name).map((each) => values[each]));
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
    for (const [name, result] of Object.entries(results)) {
      if (!Array.isArray(result)) {
        this.#result(name, result);
        continue;
      }
      if (this.#names.arrayCount(STATE, name) === undefined) this.#names.setArray(OUTPUT, name, result.length);
      result.forEach((tensor, i) => this.#result(elementName(name, i), tensor));
    }
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
    this.#give(values);
    this.#finish(this.#call('execute'));
  }

  executeProfiled(options) {
    return this.executeWithVarsProfiled({}, options);
  }

  executeWithVarsProfiled(values, options = {}) {
    return profiled(this.#engine, this.#name, options, (repetitions) => {
      this.#give(values);
      return this.#call('profile', repetitions);
    });
  }

  /** Values of variables for the next execute. */
  #give(values) {
    const all = Object.entries(objectOf('the variables', values));
    for (const [name] of all) if (!this.#variables.has(name)) throw this.#unknownVariable(name, 'executeWithVars()');
    const given = all.filter(([, value]) => value !== undefined && value !== null);
    for (const [name, value] of given) this.#checkValue(name, value);
    for (const [name, value] of given) this.#call('give', this.#variables.get(name).number, value);
  }

  #checkValue(name, value) {
    const { min, max } = this.#variables.get(name);
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
      const count = this.#names.arrayCount(INPUT, name);
      if (count === undefined || !this.#prepared) {
        this.input(name).take(value);
        continue;
      }
      if (!Array.isArray(value) || value.length !== count) {
        throw new TandemError(
          'InvalidArgument', `the array "${name}" of "${this.#name}" got ${describe(value)}; give an array of ${count}, one for ` +
            'each element', { input: name, expected: count, actual: describe(value) });
      }
      value.forEach((one, i) => this.input(name, i).take(one));
    }
    this.executeWithVars(values);
    return this.#names.all(OUTPUT).length ? this.output().data : undefined;
  }

  /** The states as they were after prepare(). */
  reset() {
    this.#finish(this.#call('reset'));
    this.#initialize();
  }

  #initialize() {
    for (const [name, init] of this.#initial) this.#port(STATE, name)[typeof init === 'number' ? 'fill' : 'copyFrom'](init);
  }

  // Buffers.

  input(name, index) {
    return this.#element(INPUT, name, index);
  }
  state(name, index) {
    return this.#element(STATE, name, index);
  }
  /** Without a name the first one. */
  output(name, index) {
    return name === undefined ? this.#port(OUTPUT, this.#names.all(OUTPUT)[0]) : this.#element(OUTPUT, name, index);
  }

  inputCount(name) {
    return this.#countOf(INPUT, name);
  }
  stateCount(name) {
    return this.#countOf(STATE, name);
  }
  outputCount(name) {
    return this.#countOf(OUTPUT, name);
  }

  #countOf(kind, name) {
    this.#checkAccess(kind);
    return this.#names.count(kind, name);
  }

  #element(kind, name, index) {
    this.#checkAccess(kind);
    return this.#port(kind, this.#names.element(kind, name, index));
  }

  #checkAccess(kind) {
    this.#checkLive();
    if (this.#prepared) return;
    throw new TandemError(
      'NotPrepared', `an access to "${this.#name}" (${KINDS[kind]}) came before a successful prepare(); prepare it first`);
  }

  #describe(kind, number) {
    const found = this.#call('port', kind, number);
    if (!found) throw this.#engine.failure();
    const [name, dtype, shape] = this.#engine.text(found).split('\t');
    return { name, dtype, shape: shape === '' ? [] : shape.split(';').map(Number) };
  }

  #port(kind, name) {
    this.#checkAccess(kind);
    const key = KINDS[kind] + ' ' + name;
    const known = this.#ports.get(key);
    if (known) return known;
    const number = this.#names.number(kind, name);
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
