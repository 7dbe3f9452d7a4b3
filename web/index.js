export { arrayOf, bf16, boolean, f16, f32, i32, i64, u8 } from './dtypes.js';
export { createEngine } from './engine.js';
export { TandemError } from './errors.js';
export { createWorkerEngine } from './worker_engine.js';
