/**
 * Graphs that are declared in JavaScript.
 *
 * A wrapper names its inputs, symbolic sizes, states and one build function, which is called once, in prepare():
 *
 *     const mixer = engine.jit({
 *       name: 'mixer',                                // for messages
 *       model: { longest: 4096, scale: 0.5 },         // whatever bounds and build need
 *       vars: { t: [1, (model) => model.longest] },   // one plan serves the whole range
 *       inputs: { gain: null, samples: f32([2, 't']), windows: { dtype: 'f32', shape: ({ t }) => [t.mul(2).add(1)] } },
 *       state: { total: { dtype: 'f32', shape: [1], init: 0 } },
 *       outputs: { y: 'f32' },
 *       build({ gain, samples, windows, total, t }, { concat, sub, sizeTensor }, model) {
 *         const y = gain.matmul(samples).mul(model.scale);
 *         return { y, total: total.add(windows.sum()) };
 *       },
 *     });
 *     mixer.withBound('t', 300).prepare({ gain: f32([1, 2]) }, { numerics: 'reproducible' });
 *     mixer.input('gain').copyFrom(Float32Array.of(0.25, 0.75));
 *     mixer.input('samples').copyFrom(stereo, [2, 200]); // the live shape; without it the largest
 *     mixer.executeWithVars({ t: 200 });                 // a variable without a value has its upper bound
 *     const y = mixer.output('y');                       // y.shape is [1, 200], y.data a Float32Array of 200
 *
 * Several inputs, states or outputs may share a name: `bands: arrayOf(3, f32([1, 't']))`; the count may read the model, and
 * `arrayOf(3)` gets one spec for all, or an array of them, in prepare(). build sees an array of tensors, concat(bands, 0) or
 * bands[2], and may return one, { sums: [a, b] }; input('bands', 2) and output('sums', 1) are their buffers.
 *
 * The tensor operations are methods, x.matmul(w), and functions, matmul(x, w); a number may stand on either side of the
 * binary ones. Weights come from engine.weights(file).tensor(name) or constant(array, shape).
 *
 * Topology is fixed while a graph is built, and a tensor has no values there. Right: x.less(0).where(a, b). Wrong:
 * `if (x.item() < 0)`, `x > 0`, `x.data`: they do not compile in TypeScript, and throw in JavaScript.
 *
 * Every error is a TandemError. A mistake in an operation is thrown at its line; what build throws comes out of prepare()
 * as a Build error whose `cause` it is. A wrapper that fails to prepare may be prepared again.
 */
import type { ByteSource, InstructionSet, KernelProfile, Numerics, ProfileOptions } from './index.js';

/** Element types. f16 and bf16 are stored so and computed in f32; JavaScript sees their bits. */
export type DType =
  | 'bool' | 'i8' | 'i16' | 'i32' | 'i64' | 'u8' | 'u16' | 'u32' | 'u64' | 'f16' | 'bf16' | 'f32' | 'f64';
export interface ArrayTypes {
  bool: Uint8Array; i8: Int8Array; i16: Int16Array; i32: Int32Array; i64: BigInt64Array;
  u8: Uint8Array; u16: Uint16Array; u32: Uint32Array; u64: BigUint64Array;
  f16: Uint16Array; bf16: Uint16Array; f32: Float32Array; f64: Float64Array;
}
export type ArrayOf<D extends DType> = ArrayTypes[D];

/**
 * A size of a tensor: an expression of variables. It has no number while a graph is built, so that `t + 1` throws: write
 * `t.add(1)`. Divisions round down, and the divisor must be provably positive.
 */
export interface Dim {
  readonly lower: number;
  readonly upper: number;
  /** The number of a dimension that is constant, of a fixed variable for instance. */
  readonly value: number | undefined;
  add(other: Size): Dim;
  sub(other: Size): Dim;
  mul(other: Size): Dim;
  floorDiv(other: Size): Dim;
  /** The same as floorDiv. */
  div(other: Size): Dim;
  floorMod(other: Size): Dim;
  ceilDiv(other: Size): Dim;
  min(other: Size): Dim;
  max(other: Size): Dim;
  /** Equal for every value of the variables? */
  equals(other: Size): boolean;
  toString(): string;
}
export type Size = number | Dim;
/** A tensor, or a number that takes the dtype of the tensor it meets. */
export type Operand = Tensor | number | bigint;
/** Amounts before and after, or first (inclusive) and last (exclusive), of one axis. */
export type SizePair = readonly [Size, Size];
export interface Conv1dOptions { stride?: number; padding?: number; dilation?: number; groups?: number }
/** One number for both axes, or one for each. */
export interface Conv2dOptions {
  stride?: number | number[]; padding?: number | number[]; dilation?: number | number[]; groups?: number;
}

interface BinaryMethods {
  add(y: Operand): Tensor;
  sub(y: Operand): Tensor;
  mul(y: Operand): Tensor;
  div(y: Operand): Tensor;
  mod(y: Operand): Tensor;
  pow(y: Operand): Tensor;
  minimum(y: Operand): Tensor;
  maximum(y: Operand): Tensor;
  bitwiseAnd(y: Operand): Tensor;
  bitwiseOr(y: Operand): Tensor;
  bitwiseXor(y: Operand): Tensor;
  shiftLeft(y: Operand): Tensor;
  shiftRight(y: Operand): Tensor;
  less(y: Operand): Tensor;
  lessEqual(y: Operand): Tensor;
  equal(y: Operand): Tensor;
  notEqual(y: Operand): Tensor;
  greater(y: Operand): Tensor;
  greaterEqual(y: Operand): Tensor;
}

interface Methods {
  /** Same elements, row-major. One dimension may be -1: it takes what is left. */
  reshape(shape: readonly Size[]): Tensor;
  /** Axis i of the result is axis order[i]. */
  permute(order: readonly number[]): Tensor;
  transpose(a: number, b: number): Tensor;
  unsqueeze(axis: number): Tensor;
  squeeze(axis: number): Tensor;
  /** Merges the axes first .. last (all of them) into one. */
  flatten(first?: number, last?: number): Tensor;
  /** Repeats axes of size 1; missing leading axes are added. */
  expand(shape: readonly Size[]): Tensor;
  pad(amounts: readonly SizePair[], value?: number | bigint): Tensor;
  /** Mirrored elements around each axis, the edge not repeated. */
  reflectPad(amounts: readonly SizePair[]): Tensor;
  shrink(ranges: readonly SizePair[]): Tensor;
  /** x[begin : end : step] along one axis; negative numbers count from the end, which `end` is by default. */
  slice(axis: number, begin: Size, end?: Size, step?: number): Tensor;
  flip(axes: number | readonly number[]): Tensor;
  /** Sliding windows: `axis` becomes the window number, a new last axis the place in the window. */
  window(axis: number, size: Size, step?: Size, dilation?: Size): Tensor;
  split(axis: number, sizes: readonly Size[]): Tensor[];
  chunk(axis: number, parts: number): Tensor[];
  /** x[.., indices[..], ..]: the axes of `indices` take the place of `axis`. An index outside gives 0. */
  gather(axis: number, indices: Tensor): Tensor;
  /** Element i of the axis is kept where i < lengths[..], else `fill`; what lies beyond is not computed. */
  limit(axis: number, lengths: Tensor, fill?: number | bigint): Tensor;
  cast(dtype: DType): Tensor;
  bitcast(dtype: DType): Tensor;
  /** Reductions over axes; none means all. `keepdims` leaves axes of size 1. */
  sum(axes?: number | readonly number[], keepdims?: boolean): Tensor;
  prod(axes?: number | readonly number[], keepdims?: boolean): Tensor;
  max(axes?: number | readonly number[], keepdims?: boolean): Tensor;
  min(axes?: number | readonly number[], keepdims?: boolean): Tensor;
  mean(axes?: number | readonly number[], keepdims?: boolean): Tensor;
  var(axes?: number | readonly number[], keepdims?: boolean, correction?: number): Tensor;
  any(axes?: number | readonly number[], keepdims?: boolean): Tensor;
  all(axes?: number | readonly number[], keepdims?: boolean): Tensor;
  /** Index (i64) of the largest element, the first of equal ones. */
  argmax(axis: number, keepdims?: boolean): Tensor;
  cumsum(axis: number): Tensor;
  /** this ? x : y. */
  where(x: Operand, y: Operand): Tensor;
  /** Rows of `table` by the indices of this tensor. */
  embedding(table: Tensor): Tensor;
  neg(): Tensor;
  abs(): Tensor;
  sqrt(): Tensor;
  exp(): Tensor;
  log(): Tensor;
  sin(): Tensor;
  cos(): Tensor;
  tanh(): Tensor;
  sigmoid(): Tensor;
  erf(): Tensor;
  floor(): Tensor;
  ceil(): Tensor;
  trunc(): Tensor;
  /** To nearest, ties to even. */
  round(): Tensor;
  logicalNot(): Tensor;
  /** Product of the last two axes, the others broadcast. */
  matmul(b: Tensor): Tensor;
  /** x [.., in] by weight [out, in] plus bias [out]. */
  linear(weight: Tensor, bias?: Tensor): Tensor;
  /** x [n, c, t] with weight [o, c / groups, k] plus bias [o]. */
  conv1d(weight: Tensor, bias?: Tensor, options?: Conv1dOptions): Tensor;
  conv2d(weight: Tensor, bias?: Tensor, options?: Conv2dOptions): Tensor;
  /** With `lengths`: over the first lengths[..] elements of the axis, 0 beyond them. */
  softmax(axis: number, lengths?: Tensor): Tensor;
  logSoftmax(axis: number): Tensor;
  /** Over as many last axes as `weight` has. */
  layerNorm(weight: Tensor, bias?: Tensor, eps?: number): Tensor;
  /** Inference form over axis 1. */
  batchNorm(mean: Tensor, variance: Tensor, weight: Tensor, bias: Tensor, eps?: number): Tensor;
  relu(): Tensor;
  leakyRelu(slope?: number): Tensor;
  elu(alpha?: number): Tensor;
  silu(): Tensor;
  gelu(): Tensor;
  softplus(): Tensor;
  glu(axis: number): Tensor;
  /** One step with x [n, in], h and c [n, hidden], wIh [4 hidden, in], wHh [4 hidden, hidden]; gates i, f, g, o. */
  lstmCell(h: Tensor, c: Tensor, wIh: Tensor, wHh: Tensor, bIh?: Tensor, bHh?: Tensor): { h: Tensor; c: Tensor };
}

/**
 * A tensor of a graph that is being built, or a weight. It has no values yet, since one plan serves all of them: choose
 * with where(), feed values as inputs or variables, and read output() after execute(). Mistakes throw a TandemError with
 * the code Tensor at the call. Binary operations broadcast; operands have one dtype; negative axes count from the end.
 */
export interface Tensor extends BinaryMethods, Methods {
  readonly dtype: DType;
  readonly shape: readonly Size[];
  readonly rank: number;
  /** The size of an axis as a Dim, also when it is a number. */
  dim(axis: number): Dim;
  toString(): string;
}

type AsFunction<M> = M extends (...values: infer V) => infer R ? (x: Tensor, ...values: V) => R : never;
/** What makes tensors of other things. */
interface Sources {
  full(shape: readonly Size[], value: number | bigint, dtype?: DType): Tensor;
  zeros(shape: readonly Size[], dtype?: DType): Tensor;
  arange(n: Size, dtype?: DType): Tensor;
  /** The value of a dimension as a tensor of shape []. */
  sizeTensor(dim: Size, dtype?: DType): Tensor;
  concat(tensors: readonly Tensor[], axis: number): Tensor;
  stack(tensors: readonly Tensor[], axis: number): Tensor;
  /** The numbers of a typed array, or of an array in the dtype (f32); by default of shape [length]. */
  constant(values: ArrayOf<DType> | readonly (number | bigint)[], shape?: readonly number[], dtype?: DType): Tensor;
}
/** All operations as functions: `sub(1, x)`, `concat([a, b], 1)`, `relu(x)`. */
export type Operations = Sources & { [K in keyof Methods]: AsFunction<Methods[K]> } & {
  [K in keyof BinaryMethods]: (x: Operand, y: Operand) => Tensor;
};

/** In a declaration a string stands for the variable of that name. */
export type ShapeText<V extends string = string> = readonly (number | Dim | V)[];
export interface Spec<D extends DType = DType, V extends string = string> {
  readonly dtype: D;
  readonly shape: ShapeText<V> | ((vars: Record<V, Dim>) => readonly Size[]);
}
export interface StateSpec<D extends DType = DType, V extends string = string> extends Spec<D, V> {
  /** Value after prepare() and reset(); default 0. */
  readonly init?: number | ArrayOf<D>;
}
type AnyShape = readonly (number | Dim | string)[] | ((vars: Record<string, Dim>) => readonly Size[]);
export function f32<const S extends AnyShape>(shape: S): { dtype: 'f32'; shape: S };
export function f16<const S extends AnyShape>(shape: S): { dtype: 'f16'; shape: S };
export function bf16<const S extends AnyShape>(shape: S): { dtype: 'bf16'; shape: S };
export function i32<const S extends AnyShape>(shape: S): { dtype: 'i32'; shape: S };
export function i64<const S extends AnyShape>(shape: S): { dtype: 'i64'; shape: S };
export function u8<const S extends AnyShape>(shape: S): { dtype: 'u8'; shape: S };
export function boolean<const S extends AnyShape>(shape: S): { dtype: 'bool'; shape: S };

/** How many elements an array has, 0 to 4096. */
export type Count = number | ((model: any) => number);
/** An array: elements that share a name, each with a buffer of its own. */
export interface ArraySpec<N extends Count = Count> {
  readonly count: N;
}
/** Inputs whose shapes come with prepare(), or outputs of any dtype. */
export function arrayOf<const N extends Count>(count: N): { count: N };
/** Outputs of a dtype. */
export function arrayOf<const N extends Count, const D extends DType>(count: N, dtype: D): { count: N; dtype: D };
/** Inputs or states: what each of them is. */
export function arrayOf<const N extends Count, S extends { dtype: DType; shape: AnyShape }>(count: N, spec: S): { count: N } & S;

type Bound<M> = number | ((model: M) => number);
type Inputs<V extends string> =
  Record<string, Spec<DType, V> | (Spec<DType, V> & ArraySpec) | (ArraySpec & { dtype?: undefined; shape?: undefined }) | null>;
type States<V extends string> = Record<string, StateSpec<DType, V> | (StateSpec<DType, V> & ArraySpec)>;
type OutputTypes = Record<string, DType | (ArraySpec & { dtype?: DType }) | null>;

type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;
type Repeat<N extends number, T, A extends readonly T[] = readonly []> =
  A['length'] extends N ? A : Repeat<N, T, readonly [...A, T]>;
/** As many as N; counts that come from the model, or of three digits, are not followed. */
type Elements<N, T> = N extends number
  ? number extends N ? readonly T[] : `${N}` extends `${Digit}` | `${Digit}${Digit}` ? Repeat<N, T> : readonly T[]
  : readonly T[];
type CountIn<T> = T extends { count: infer N } ? N : never;
/** A value for one, or for each element of an array. */
type Each<T, Value> = T extends { count: infer N } ? Elements<N, Value> : Value;
type ArrayNames<T> = { [K in keyof T]: T[K] extends { count: unknown } ? K : never }[keyof T] & string;
type SingleNames<T> = Exclude<keyof T & string, ArrayNames<T>>;
/** 0 to N - 1 for a number that is written down. */
type IndexIn<X extends number, N> = number extends X ? X
  : Elements<N, 0> extends infer E extends readonly 0[]
    ? number extends E['length'] ? X : X extends Exclude<Partial<E>['length'], E['length']> ? X
      : Exclude<Partial<E>['length'], E['length']>
    : X;

/** What build may return: one tensor, or each output and the new value of each state by name. */
type Results<S, O> = Tensor | (
  { [K in SingleNames<S> | SingleNames<O>]: Tensor } & { [K in ArrayNames<S> | ArrayNames<O>]: readonly Tensor[] } &
  { [name: string]: Tensor | readonly Tensor[] });

export interface Declaration<M, V extends string, I, S, O, R> {
  /** For messages. */
  name?: string;
  /** Whatever bounds and build need. */
  model?: M;
  /** Symbolic sizes: [min, max]. One plan serves the whole range. */
  vars?: { readonly [K in V]: readonly [min: Bound<M>, max: Bound<M>] };
  /** By name: `f32([2, 't'])`, or null when the shape comes with prepare(); arrayOf() for several. */
  inputs?: I & Inputs<NoInfer<V>>;
  /** Tensors that stay in the plan: what build returns by the same name is their value in the next execute. */
  state?: S;
  /** By name, with the dtype that build must return, or null for any. Without it the names that build returns stand. */
  outputs?: O;
  /** Runs once, in prepare(), and must not depend on values: topology is fixed there. */
  build(
    values: { readonly [K in keyof I]: Each<I[K], Tensor> } & { readonly [K in keyof S]: Each<S[K], Tensor> } &
      { readonly [K in NoInfer<V>]: Dim },
    ops: Operations, model: M,
  ): R;
}

/** A buffer of a prepared wrapper. It stays right when the engine's memory grows; arrays from `data` do not. */
export interface Port<D extends DType = DType> {
  readonly name: string;
  readonly dtype: D;
  /** Inputs and states: the largest. Outputs: that of the last execute. */
  readonly shape: number[];
  /** Number of elements in `shape`. */
  readonly size: number;
  /**
   * The elements in the engine's memory, a fresh view at each access. Take it anew after whatever may let the memory grow
   * (preparing, loading): an array from before then has length 0. An output's elements stand until the next execute.
   */
  readonly data: ArrayOf<D>;
  /** `data`, when the elements are of this dtype; otherwise DtypeMismatch. */
  as<E extends DType>(dtype: E): ArrayOf<E>;
}
export interface InputPort<D extends DType = DType> extends Port<D> {
  /** Fills the whole buffer, or the part that a step with this live shape reads. */
  copyFrom(array: ArrayOf<D>, liveShape?: readonly number[]): void;
  fill(value: D extends 'i64' | 'u64' ? bigint : number): void;
}

type DTypeIn<T> = T extends { dtype: infer D extends DType } ? D : DType;
type LaterOf<I> = { [K in keyof I]: I[K] extends null ? K : I[K] extends { dtype: DType } ? never : K }[keyof I] & string;
/** The outputs by name: { dtype } of each, with the count of an array. */
type OutputsOf<S, O, R> = keyof O extends never
  ? R extends Tensor ? { output: { dtype: DType } }
    : { [K in Exclude<keyof R, keyof S>]: R[K] extends readonly unknown[] ? { dtype: DType; count: number } : { dtype: DType } }
  : { [K in keyof O]: { dtype: DTypeIn<O[K] extends DType ? { dtype: O[K] } : O[K]> } & (
      O[K] extends { count: infer N } ? { count: N } : unknown) };
type StepValue<D extends DType> = ArrayOf<D> | { data: ArrayOf<D>; shape: readonly number[] };
type StepValues<T> = T extends { count: unknown } ? readonly StepValue<DTypeIn<T>>[] : StepValue<DTypeIn<T>>;
export interface PrepareOptions {
  isa?: InstructionSet | null;
  numerics?: Numerics | null;
  /**
   * Measures register tiles (EngineOptions.tune); default that of the engine. What earlier visits found is known to engines
   * that were created with `tune` or have loaded a tuned model.
   */
  tune?: boolean | null;
  /** Bytes that the plan may need; default what the engine has left. */
  memoryLimit?: number | null;
}
interface GivenSpec {
  dtype: DType;
  shape: readonly number[];
}
type PrepareArguments<I> = [LaterOf<I>] extends [never]
  ? [specs?: Record<string, never>, options?: PrepareOptions]
  : [specs: { [K in LaterOf<I>]: GivenSpec | (I[K] extends { count: infer N } ? Elements<N, GivenSpec> : never) },
    options?: PrepareOptions];

/** A wrapper: declared, then prepared once, then executed as often as you like. */
export interface Jit<V extends string = string, I = any, S = any, O = any> {
  /** The variables with their bounds as they are now. */
  readonly variables: { readonly [K in V]: { min: number; max: number } };
  /** Other bounds, before prepare(). A fixed variable is a number: kernels are made for it. */
  withBound(name: V, max: number): this;
  withMinBound(name: V, min: number): this;
  withFixed(name: V, value: number): this;
  /**
   * Builds, rewrites, compiles and allocates. With the shape of each input that was declared as null or without a shape: one
   * for all elements of an array, or an array with one for each.
   */
  prepare(...values: PrepareArguments<I>): this;
  readonly isPrepared: boolean;
  /** Every variable at its upper bound. */
  execute(): void;
  /** executeWithVars({ t: 300 }): variables that are not named, or are undefined or null, have their upper bound. */
  executeWithVars(values: { [K in V]?: number | null }): void;
  /**
   * The same as execute(), and measures its kernels; outputs and states are those of one execute, however often it is
   * repeated. One row for each call of a kernel.
   */
  executeProfiled(options?: ProfileOptions): KernelProfile[];
  executeWithVarsProfiled(values: { [K in V]?: number | null }, options?: ProfileOptions): KernelProfile[];
  /** Copies inputs in, executes, and gives the elements of the first output, which stand until the next execute. */
  step(inputs?: { [K in keyof I]?: StepValues<I[K]> }, values?: { [K in V]?: number | null }): ArrayOf<DTypeIn<O[keyof O]>>;
  /** Gives every state the value it had after prepare(). */
  reset(): void;
  /** Elements of an array by their index; one out of range is an error that names it. */
  input<K extends ArrayNames<I>, X extends number>(name: K, index: IndexIn<X, CountIn<I[K]>>): InputPort<DTypeIn<I[K]>>;
  input<K extends SingleNames<I>>(name: K): InputPort<DTypeIn<I[K]>>;
  state<K extends ArrayNames<S>, X extends number>(name: K, index: IndexIn<X, CountIn<S[K]>>): InputPort<DTypeIn<S[K]>>;
  state<K extends SingleNames<S>>(name: K): InputPort<DTypeIn<S[K]>>;
  /** Without a name the first one. */
  output(): Port<DTypeIn<O[keyof O]>>;
  output<K extends ArrayNames<O>, X extends number>(name: K, index: IndexIn<X, CountIn<O[K]>>): Port<DTypeIn<O[K]>>;
  output<K extends SingleNames<O>>(name: K): Port<DTypeIn<O[K]>>;
  /** How many elements an array has. */
  inputCount(name: ArrayNames<I>): number;
  stateCount(name: ArrayNames<S>): number;
  outputCount(name: ArrayNames<O>): number;
  /** The same code and weights with buffers of its own, which start as copies of these. */
  replicate(): Jit<V, I, S, O>;
  moduleBytes(): Uint8Array;
  destroy(): void;
}

interface Stepping {
  step(inputs?: any, values?: any): unknown;
}
export interface RecurrentOptions {
  /** How many elements of the first output are the step's result; behind them stand the new h and c. */
  head: number;
  /** The inputs that take the state; default "h" and "c". */
  h?: string | null;
  c?: string | null;
}
/** Keeps the state of a recurrent wrapper on the side of JavaScript. */
export interface JitRecurrent<J extends Stepping = Jit> {
  readonly jit: J;
  readonly state: { h: Float32Array; c: Float32Array };
  step(inputs?: Parameters<J['step']>[0], values?: Parameters<J['step']>[1]): Float32Array;
  reset(): void;
}

/** The tensors of a file. */
export interface Weights {
  readonly names: readonly string[];
  has(name: string): boolean;
  /** For use in build functions; NotFound lists what is there. */
  tensor(name: string): Tensor;
  /** Wrappers that are prepared keep what they need. */
  destroy(): void;
}

/** What an engine offers for graphs that are declared in JavaScript. Not there in a worker engine. */
export interface JitEngine {
  jit<
    R extends Results<S, O>, V extends string = never, const I extends Inputs<NoInfer<V>> = {},
    const S extends States<NoInfer<V>> = {}, const O extends OutputTypes = {}, M = undefined,
  >(declaration: Declaration<M, V, I, S, O, R>): Jit<V, I, S, OutputsOf<S, O, R>>;
  /** [head | h | c] of a prepared wrapper; OutputLayoutMismatch otherwise. */
  recurrent<J extends Stepping>(jit: J, options: RecurrentOptions): JitRecurrent<J>;
  /** The tensors of an ONNX or safetensors file. */
  weights(source: ByteSource): Promise<Weights>;
}
