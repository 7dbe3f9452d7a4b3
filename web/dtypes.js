import { TandemError, describe } from './errors.js';

/** How elements are seen from JavaScript; f16 and bf16 as their bits. */
export const VIEWS = {
  bool: Uint8Array, i8: Int8Array, i16: Int16Array, i32: Int32Array, i64: BigInt64Array,
  u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array,
  f16: Uint16Array, bf16: Uint16Array, f32: Float32Array, f64: Float64Array,
};

/** The dtype that a typed array holds when none is named. */
const DTYPES = new Map([
  [Int8Array, 'i8'], [Int16Array, 'i16'], [Int32Array, 'i32'], [BigInt64Array, 'i64'], [Uint8Array, 'u8'],
  [Uint16Array, 'u16'], [Uint32Array, 'u32'], [BigUint64Array, 'u64'], [Float32Array, 'f32'], [Float64Array, 'f64'],
]);

export function dtypeOf(array) {
  for (const [Type, dtype] of DTYPES) if (array instanceof Type) return dtype;
  return undefined;
}

export function checkDtype(what, dtype) {
  if (typeof dtype === 'string' && Object.hasOwn(VIEWS, dtype)) return dtype;
  throw new TandemError(
    'InvalidArgument', `${what} has the dtype ${describe(dtype)}; use one of ${Object.keys(VIEWS).join(', ')}`);
}

/** A DtypeMismatch unless the array's elements are those of the dtype. */
export function checkArray(what, dtype, array) {
  if (array instanceof VIEWS[dtype]) return;
  throw new TandemError(
    'DtypeMismatch', `${what} takes ${dtype}, a ${VIEWS[dtype].name}; it got ${describe(array)}`,
    { expected: VIEWS[dtype].name, actual: describe(array) },
  );
}

/** An element type and a shape, for declarations and for prepare(). */
const spec = (dtype) => (shape) => ({ dtype, shape });
export const f32 = spec('f32');
export const f16 = spec('f16');
export const bf16 = spec('bf16');
export const i32 = spec('i32');
export const i64 = spec('i64');
export const u8 = spec('u8');
export const boolean = spec('bool');

/** Several inputs, states or outputs that share a name; `spec`: what each of them is, an output's dtype alone. */
export function arrayOf(count, spec = {}) {
  return typeof spec === 'string' ? { count, dtype: spec } : { ...spec, count };
}
