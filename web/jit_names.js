import { TandemError, checkKeys, describe, objectOf } from './errors.js';

export const INPUT = 0;
export const STATE = 1;
export const OUTPUT = 2;
export const KINDS = ['input', 'state', 'output'];

const DECLARATIONS = ['name', 'model', 'vars', 'inputs', 'state', 'outputs', 'build'];

/** What a wrapper is declared with. */
export function declarationOf(value) {
  if (value === undefined || value === null) {
    throw new TandemError('InvalidArgument', `jit() got ${value}; it takes an object with ${DECLARATIONS.join(', ')}`);
  }
  checkKeys('what jit() got', objectOf('what jit() got', value), DECLARATIONS);
  return value;
}

export function isArraySpec(spec) {
  return typeof spec === 'object' && spec !== null && spec.count !== undefined;
}

/** What the plan calls an element of an array. */
export function elementName(name, index) {
  return `${name}[${index}]`;
}

/** The inputs, states and outputs of a wrapper by name: the plan numbers them. Elements of an array have names of their own. */
export class Names {
  #wrapper;
  /** Per kind, in the order of declaration; of outputs those of the plan. */
  #all = [[], [], []];
  /** Per kind, how many elements each array has; of outputs those that build returned. */
  #arrays = [new Map(), new Map(), new Map()];

  /** `wrapper`: its name, for messages. */
  constructor(wrapper) {
    this.#wrapper = wrapper;
  }

  add(kind, name) {
    this.#all[kind].push(name);
  }
  addArray(kind, name, count) {
    this.setArray(kind, name, count);
    for (const each of this.elements(kind, name)) this.add(kind, each);
  }
  setArray(kind, name, count) {
    this.#arrays[kind].set(name, count);
  }
  /** Before build runs, which may be again. */
  forgetOutputs() {
    this.#all[OUTPUT].length = 0;
    this.#arrays[OUTPUT].clear();
  }

  all(kind) {
    return this.#all[kind];
  }
  arrays(kind) {
    return this.#arrays[kind].keys();
  }
  /** How many elements an array has; nothing if it is none. */
  arrayCount(kind, name) {
    return this.#arrays[kind].get(name);
  }
  /** The name, or those of its elements if it is an array. */
  elements(kind, name) {
    const count = this.arrayCount(kind, name);
    return count === undefined ? [name] : Array.from({ length: count }, (_, i) => elementName(name, i));
  }

  /** The same for users: what is no array is an error. */
  count(kind, name) {
    const count = this.arrayCount(kind, name);
    if (count !== undefined) return count;
    throw this.#missing(
      kind, name, `"${this.#wrapper}" has no array of ${KINDS[kind]}s ${describe(name)}; it has ` +
        ([...this.arrays(kind)].join(', ') || 'none'));
  }

  /** The name of an element, or of what is no array. */
  element(kind, name, index) {
    const count = this.arrayCount(kind, name);
    const word = KINDS[kind];
    if (count === undefined) {
      if (index === undefined) return name;
      throw this.#missing(
        kind, name, `${word} ${describe(name)} of "${this.#wrapper}" was asked for with an index, ${describe(index)}; it is ` +
          'no array');
    }
    if (Number.isSafeInteger(index) && index >= 0 && index < count) return elementName(name, index);
    const asked = index === undefined ? `"${name}"` : `"${elementName(name, index)}"`;
    throw this.#missing(
      kind, name, `${word} ${asked} of "${this.#wrapper}" was asked for; "${name}" has ${count} elements: ${word}("${name}", ` +
        'index)');
  }

  /** The plan's number. */
  number(kind, name) {
    const number = this.#all[kind].indexOf(name);
    if (number >= 0) return number;
    throw this.#missing(
      kind, name, `"${this.#wrapper}" has no ${KINDS[kind]} ${describe(name)}; it has ${this.#all[kind].join(', ') || 'none'}`);
  }

  #missing(kind, name, message) {
    return new TandemError(kind === OUTPUT ? 'NotFound' : 'InputBufferNotFound', message, { [KINDS[kind]]: name });
  }
}
