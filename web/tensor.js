import { VIEWS, checkArray, checkDtype, dtypeOf } from './dtypes.js';
import { TandemError, describe } from './errors.js';

const NO_VALUES =
  'has no values while its graph is built, since one plan serves all values: choose with where(), feed the value as an ' +
  'input or a variable, or read output() after execute()';

/**
 * A size of a tensor: an expression of variables. Its number is known at each execute only, so that it takes part in
 * arithmetic through its methods.
 */
export class Dim {
  #engine;
  #jit;
  #text;

  constructor(engine, jit, text, lower, upper) {
    this.#engine = engine;
    this.#jit = jit;
    this.#text = text;
    /** Smallest and largest value. */
    this.lower = lower;
    this.upper = upper;
  }

  /** The text of a whole number or a Dim. */
  static textOf(what, value) {
    if (value instanceof Dim) return value.#text;
    if (Number.isSafeInteger(value)) return String(value);
    throw new TandemError('InvalidArgument', `${what} is ${describe(value)}; it must be a whole number or a Dim`);
  }

  /** A dimension from the text that the engine prints: a number, or a Dim. */
  static read(engine, jit, text) {
    const number = Number(text);
    return Number.isSafeInteger(number) ? number : Dim.join(engine, jit, '+', text, '0');
  }

  static join(engine, jit, operation, a, b) {
    const found = engine.withCopies([operation, a, b], (...addresses) => engine.call('tandem_jit_dim', jit, ...addresses));
    if (!found) throw engine.failure();
    const [text, lower, upper] = engine.text(found).split('\t');
    return new Dim(engine, jit, text, Number(lower), Number(upper));
  }

  #with(operation, other) {
    return Dim.join(this.#engine, this.#jit, operation, this.#text, Dim.textOf('the other operand', other));
  }

  add(other) {
    return this.#with('+', other);
  }
  sub(other) {
    return this.#with('-', other);
  }
  mul(other) {
    return this.#with('*', other);
  }
  floorDiv(other) {
    return this.#with('/', other);
  }
  /** The same as floorDiv: sizes are whole. */
  div(other) {
    return this.#with('/', other);
  }
  floorMod(other) {
    return this.#with('%', other);
  }
  ceilDiv(other) {
    return this.add(other).sub(1).floorDiv(other);
  }
  min(other) {
    return this.#with('min', other);
  }
  max(other) {
    return this.#with('max', other);
  }
  /** Equal for every value of the variables? */
  equals(other) {
    return this.sub(other).value === 0;
  }
  /** The number of a constant dimension, of a variable that is fixed for instance; otherwise undefined. */
  get value() {
    return this.lower === this.upper ? this.lower : undefined;
  }
  toString() {
    return this.#text;
  }
  [Symbol.toPrimitive](hint) {
    if (hint === 'string') return this.#text;
    if (this.value !== undefined) return this.value;
    throw new TandemError('Tensor', `the dimension ${this.#text} ${NO_VALUES}; add(), mul(), ... compute with it`);
  }
}

/** A tensor of a graph that is being built, or a weight. Its operations are installed from the engine's table. */
export class Tensor {
  #engine;
  #number;

  constructor(engine, number, dtype, shape) {
    this.#engine = engine;
    this.#number = number;
    this.dtype = dtype;
    this.shape = Object.freeze(shape);
    Object.freeze(this);
  }

  /** From a description: number, dtype and dimensions with tabs between. */
  static read(engine, jit, description) {
    const [number, dtype, dims] = description.split('\t');
    const shape = dims === '' ? [] : dims.split(';').map((text) => Dim.read(engine, jit, text));
    return new Tensor(engine, Number(number), dtype, shape);
  }

  static numberOf(engine, what, value) {
    if (!(value instanceof Tensor)) {
      throw new TandemError('InvalidArgument', `${what} is ${describe(value)}; it must be a Tensor`);
    }
    if (value.#engine !== engine) throw new TandemError('InvalidArgument', `${what} is a Tensor of another engine`);
    return value.#number;
  }

  static install(name) {
    if (Object.hasOwn(Tensor.prototype, name)) return;
    const method = function (...values) {
      return this.#engine.operations.apply(name, [this, ...values]);
    };
    Object.defineProperty(Tensor.prototype, name, { value: method, writable: true, configurable: true });
  }

  get rank() {
    return this.shape.length;
  }
  /** The size of an axis as a Dim, also when it is a number. Negative axes count from the end. */
  dim(axis) {
    const size = this.shape.at(axis);
    if (size instanceof Dim) return size;
    if (size !== undefined && Number.isInteger(axis) && axis < this.rank) {
      return Dim.join(this.#engine, this.#engine.operations.jit, '+', String(size), '0');
    }
    throw new TandemError('Tensor', `axis ${describe(axis)} does not exist in shape [${this.shape.join(', ')}]`);
  }

  toString() {
    return `${this.dtype}[${this.shape.join(', ')}]`;
  }
  get data() {
    throw new TandemError('Tensor', `the tensor ${this} ${NO_VALUES}`);
  }
  item() {
    throw new TandemError('Tensor', `the tensor ${this} ${NO_VALUES}`);
  }
  [Symbol.iterator]() {
    throw new TandemError('Tensor', `the tensor ${this} ${NO_VALUES}`);
  }
  [Symbol.toPrimitive](hint) {
    if (hint === 'string') return this.toString();
    throw new TandemError('Tensor', `the tensor ${this} ${NO_VALUES}`);
  }
}

function integer(what, value) {
  if (Number.isSafeInteger(value)) return String(value);
  throw new TandemError('InvalidArgument', `${what} is ${describe(value)}; it must be a whole number`);
}

function list(what, value) {
  if (Array.isArray(value)) return value;
  throw new TandemError('InvalidArgument', `${what} is ${describe(value)}; it must be an array`);
}

function number(what, value) {
  // String(-0) is "0".
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value === 'bigint') return String(value);
  throw new TandemError('InvalidArgument', `${what} is ${describe(value)}; it must be a number`);
}

/** How an argument is written for web/arguments.cc; `what` names it in messages. */
const WRITERS = {
  tensor: (what, value, engine) => '%' + Tensor.numberOf(engine, what, value),
  tensors: (what, value, engine) =>
    list(what, value).map((one, i) => WRITERS.tensor(`${what}[${i}]`, one, engine)).join(';'),
  operand: (what, value, engine) => {
    if (typeof value === 'number' || typeof value === 'bigint') return number(what, value);
    if (value instanceof Tensor) return WRITERS.tensor(what, value, engine);
    throw new TandemError('InvalidArgument', `${what} is ${describe(value)}; it must be a Tensor or a number`);
  },
  number,
  real: (what, value) => (typeof value === 'number' ? String(value) : number(what, Number(value))),
  integer,
  integers: (what, value) =>
    (typeof value === 'number' ? [value] : list(what, value)).map((one, i) => integer(`${what}[${i}]`, one)).join(';'),
  flag: (what, value) => {
    if (typeof value === 'boolean') return String(value);
    throw new TandemError('InvalidArgument', `${what} is ${describe(value)}; it must be true or false`);
  },
  dtype: (what, value) => checkDtype(what, value),
  // Infinity means "to the end".
  dim: (what, value) => (value === Infinity ? '9223372036854775807' : Dim.textOf(what, value)),
  dims: (what, value) => list(what, value).map((one, i) => Dim.textOf(`${what}[${i}]`, one)).join(';'),
  pairs: (what, value) =>
    list(what, value).map((pair, i) => {
      if (!Array.isArray(pair) || pair.length !== 2) {
        throw new TandemError('InvalidArgument', `${what}[${i}] is ${describe(pair)}; it must be [first, second]`);
      }
      return pair.map((one, j) => Dim.textOf(`${what}[${i}][${j}]`, one)).join(':');
    }).join(';'),
};

/** A row of the table: name, parameters, results and kinds, with tabs between. */
function readOperation(line, index) {
  const [name, parameterText, results, kinds] = line.split('\t');
  const kindOf = kinds.split(' ');
  const first = kindOf[0];
  const [positional, named = ''] = parameterText.split('|');
  const read = (text) => text.trim().split(' ').filter(Boolean).map((word) => {
    const [parameter, otherwise] = word.split('=');
    return { name: parameter, otherwise, write: WRITERS[kindOf.shift()] };
  });
  return { name, index, first, parameters: read(positional), named: read(named), results };
}

/** The operations of one engine, and what of its graphs is being built. */
export class Operations {
  #engine;
  #table = new Map();
  /** The wrappers whose build functions run, the innermost last. */
  building = [];

  constructor(engine) {
    this.#engine = engine;
    const lines = engine.text(engine.call('tandem_operations')).trimEnd().split('\n');
    const functions = { constant: (...values) => this.#constant(...values) };
    lines.map(readOperation).forEach((operation) => {
      const { name, first } = operation;
      this.#table.set(name, operation);
      functions[name] = (...values) => this.apply(name, values);
      if (first === 'tensor' || first === 'operand') Tensor.install(name);
    });
    /** All of them as functions: the second argument of a build function. */
    this.functions = Object.freeze(functions);
  }

  /** Handle of the wrapper that is being built; 0: none. */
  get jit() {
    return this.building.at(-1)?.handle ?? 0;
  }

  apply(name, values) {
    const engine = this.#engine;
    const { index, parameters, named, results } = this.#table.get(name);
    const texts = parameters.map((parameter, i) => this.#write(name, parameter, values[i]));
    if (values.length > parameters.length + (named.length ? 1 : 0)) {
      throw new TandemError('InvalidArgument', `${name}() got ${values.length} arguments, it takes ${parameters.length}`);
    }
    if (named.length) {
      const options = values[parameters.length] ?? {};
      for (const key of Object.keys(options)) {
        if (named.some((parameter) => parameter.name === key)) continue;
        throw new TandemError(
          'InvalidArgument', `${name}() has no option "${key}"; it has ${named.map((one) => one.name).join(', ')}`);
      }
      for (const parameter of named) texts.push(this.#write(name, parameter, options[parameter.name]));
    }
    const found = engine.withCopies([texts.join('\n')], (address) => engine.call('tandem_operation', index, address));
    if (!found) throw engine.failure();
    const lines = engine.text(found).split('\n').slice(0, -1);
    const tensors = lines.map((line) => Tensor.read(engine, this.jit, line));
    if (results === '') return tensors[0];
    return results === '[]' ? tensors : Object.fromEntries(results.split(' ').map((key, i) => [key, tensors[i]]));
  }

  #write(name, parameter, value) {
    if (value !== undefined) return parameter.write(`${name}(): ${parameter.name}`, value, this.#engine);
    if (parameter.otherwise !== undefined) return parameter.otherwise;
    throw new TandemError('InvalidArgument', `${name}(): ${parameter.name} is missing`);
  }

  /** A constant: the numbers of a typed array, or of an array in the dtype (f32). */
  #constant(values, shape, dtype) {
    const engine = this.#engine;
    if (dtype !== undefined) checkDtype('constant()', dtype);
    let array = values;
    let type = dtype ?? dtypeOf(values) ?? 'f32';
    if (Array.isArray(values) && !['f16', 'bf16'].includes(type)) {
      const big = type === 'i64' || type === 'u64';
      array = VIEWS[type].from(values, (value) => (big ? BigInt(value) : Number(value)));
    }
    checkArray('constant()', type, array);
    const sizes = shape ?? [array.length];
    const dims = WRITERS.dims('constant(): shape', sizes);
    const count = sizes.reduce((a, b) => a * b, 1);
    if (count !== array.length) {
      throw new TandemError('Tensor', `constant() got ${array.length} elements, the shape [${sizes.join(', ')}] has ${count}`);
    }
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    const found = engine.withCopies([type, dims], (typeAddress, dimsAddress) =>
      engine.call('tandem_constant', typeAddress, dimsAddress, engine.give(bytes), bytes.byteLength));
    if (!found) throw engine.failure();
    return Tensor.read(engine, this.jit, engine.text(found));
  }
}
