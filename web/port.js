import { VIEWS, checkArray, checkDtype } from './dtypes.js';
import { TandemError, describe } from './errors.js';

/** A buffer of a prepared wrapper. It stays right when the engine's memory grows; the arrays that it gives do not. */
export class Port {
  #read;

  /** `read`: address and present shape, or an error. */
  constructor(engine, read, name, dtype) {
    this.engine = engine;
    this.#read = read;
    this.name = name;
    this.dtype = dtype;
    Object.defineProperty(this, 'engine', { enumerable: false });
  }

  get shape() {
    return this.#read().shape;
  }

  get size() {
    return this.shape.reduce((a, b) => a * b, 1);
  }

  /**
   * The elements where the kernels read and write them. A fresh view at each access: take it anew after anything that
   * may let the memory grow (prepare(), loading something), since an array from before then has length 0.
   */
  get data() {
    const { address, shape } = this.#read();
    return this.engine.view(VIEWS[this.dtype], address, shape.reduce((a, b) => a * b, 1));
  }

  /** `data`, when the elements are of this dtype. */
  as(dtype) {
    if (checkDtype('as()', dtype) === this.dtype) return this.data;
    throw new TandemError('DtypeMismatch', `"${this.name}" was accessed as ${dtype}; its elements are ${this.dtype}`,
      { expected: this.dtype, actual: dtype });
  }
}

/** An input or a state. */
export class InputPort extends Port {
  #copy;

  constructor(engine, read, name, dtype, copy) {
    super(engine, read, name, dtype);
    this.#copy = copy;
  }

  /**
   * Fills the whole buffer, or, with the shape that the elements have in this step, the part of it where the kernels look.
   */
  copyFrom(array, liveShape) {
    checkArray(`"${this.name}"`, this.dtype, array);
    if (liveShape === undefined) {
      const to = this.data;
      if (array.length !== to.length) {
        throw new TandemError(
          'ViewOutOfBounds',
          `"${this.name}" (${this.dtype}[${this.shape.join(', ')}]) takes ${to.length} elements, it got ${array.length}; ` +
            'give the live shape if it is smaller',
          { expected: to.length, actual: array.length },
        );
      }
      to.set(array);
      return;
    }
    if (!Array.isArray(liveShape) || !liveShape.every(Number.isSafeInteger)) {
      throw new TandemError(
        'InvalidArgument', `the live shape of "${this.name}" is ${describe(liveShape)}; it must be an array of numbers`);
    }
    this.#copy(array, liveShape);
  }

  /** Elements, or { data, shape } with their live shape. */
  take(value) {
    if (ArrayBuffer.isView(value) || value?.data === undefined) this.copyFrom(value);
    else this.copyFrom(value.data, value.shape);
  }

  fill(value) {
    this.data.fill(value);
  }
}
