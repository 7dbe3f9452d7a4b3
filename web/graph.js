import { VIEWS } from './dtypes.js';
import { TandemError, describe, optionsOf } from './errors.js';
import { profiled } from './profile.js';

const INPUT = 0;
const OUTPUT = 1;
const VARIABLE = 2;

function bytesOfView(name, value) {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TandemError('InvalidArgument', `${name} is ${describe(value)}; it must be a typed array`);
}

/** A graph that was planned, emitted and loaded: fill inputs, run, read outputs. */
export class CompiledGraph {
  #engine;
  #handle;

  constructor(engine, text, given) {
    const options = optionsOf('compileGraph()', given, ['constants', 'isa', 'numerics']);
    this.#engine = engine;
    engine.stopWarmUp();
    if (typeof text !== 'string') throw new TandemError('InvalidArgument', `the graph is ${describe(text)}, not a text`);
    const reproducible = engine.numericsOf(options);
    for (const [name, value] of Object.entries(options.constants ?? {})) {
      const bytes = bytesOfView(`constant "${name}"`, value);
      engine.withCopies([name, bytes], (nameAddress, address) => {
        if (!engine.call('tandem_graph_constant', nameAddress, address, bytes.byteLength)) throw engine.failure();
      });
    }
    const textBytes = engine.encode(text);
    this.#handle = engine.withCopies([textBytes, engine.isaOf(options)], (address, isa) =>
      engine.call('tandem_graph_compile', address, textBytes.byteLength, isa, reproducible));
    if (!this.#handle) throw engine.failure();
    engine.adopt(this);
    this.inputs = this.#describe(INPUT);
    this.outputs = this.#describe(OUTPUT);
    this.variables = [];
    for (let i = 0; i < this.#call('count', VARIABLE); i++) {
      this.variables.push(engine.text(this.#call('name', VARIABLE, i)));
    }
  }

  #call(name, ...values) {
    if (!this.#handle) throw new TandemError('Destroyed', 'the graph was destroyed; compile it again');
    return this.#engine.call('tandem_graph_' + name, this.#handle, ...values);
  }

  #shape(part, i, largest) {
    const shape = [];
    for (let axis = 0; axis < this.#call('rank', part, i); axis++) {
      shape.push(this.#call('extent', part, i, axis, largest ? 1 : 0));
    }
    return shape;
  }

  #describe(part) {
    const all = [];
    for (let i = 0; i < this.#call('count', part); i++) {
      all.push({
        name: this.#engine.text(this.#call('name', part, i)),
        dtype: this.#engine.text(this.#call('dtype', part, i)),
        shape: this.#shape(part, i, true),
      });
    }
    return all;
  }

  /**
   * `inputs`: typed arrays in order or by name; `variables`: values by name, the others have their maximum. Returns an
   * array of { name, dtype, shape, data }, each with a copy of its elements.
   */
  run(inputs = [], variables = {}) {
    this.#fill(inputs, variables);
    if (this.#call('run') !== 1) throw this.#engine.failure();
    return this.outputs.map(({ name, dtype }, i) => {
      const shape = this.#shape(OUTPUT, i, false);
      const count = shape.reduce((a, b) => a * b, 1);
      return { name, dtype, shape, data: this.#engine.view(VIEWS[dtype], this.#call('data', OUTPUT, i), count).slice() };
    });
  }

  /**
   * Runs it `repetitions` times (100), kernel by kernel, and returns the mean of each: { kernel, origin, flops, bytes,
   * seconds, share }. They are put onto the page's timeline unless `marks` is false.
   */
  executeProfiled(inputs = [], variables = {}, options = {}) {
    this.#fill(inputs, variables);
    return profiled(this.#engine, this.outputs.map(({ name }) => name).join(', '), options, (repetitions) =>
      this.#call('profile', repetitions));
  }

  #fill(inputs, variables) {
    this.#call('reset_variables');
    this.variables.forEach((name, i) => {
      if (Object.hasOwn(variables, name) && !this.#call('set_variable', i, variables[name])) throw this.#engine.failure();
    });
    this.inputs.forEach((input, i) => {
      const value = Array.isArray(inputs) ? inputs[i] : inputs[input.name];
      const address = this.#call('data', INPUT, i) >>> 0;
      if (address === 0) return;
      if (value === undefined) throw new TandemError('InputBufferNotFound', `input "${input.name}" is not given`);
      const bytes = bytesOfView(`input "${input.name}"`, value);
      const room = input.shape.reduce((a, b) => a * b, VIEWS[input.dtype].BYTES_PER_ELEMENT);
      if (bytes.byteLength > room) {
        throw new TandemError(
          'ViewOutOfBounds',
          `input "${input.name}" has ${bytes.byteLength} bytes, ${input.dtype} [${input.shape}] takes ${room}`,
        );
      }
      this.#engine.view(Uint8Array, address, bytes.byteLength).set(bytes);
    });
  }

  /** The WebAssembly module that was emitted for this graph. */
  moduleBytes() {
    return this.#engine.view(Uint8Array, this.#call('module'), this.#call('module_size')).slice();
  }

  destroy() {
    if (!this.#handle) return;
    if (this.#engine.isLive) this.#call('destroy');
    this.#handle = 0;
    this.#engine.forget(this);
  }
}
