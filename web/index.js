export { createEngine } from './engine.js';
export { TandemError } from './errors.js';
export { createWorkerEngine } from './worker_engine.js';
