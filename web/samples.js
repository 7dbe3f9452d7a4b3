import { TandemError, describe } from './errors.js';

/** Are these samples at all? */
export function checkSamples(samples) {
  if (!(samples instanceof Float32Array)) {
    throw new TandemError('InvalidArgument', `samples are ${describe(samples)}; give a Float32Array from -1 to 1`);
  }
}

/** Before anything is taken, so that nothing changes when a sample is refused. */
export function checkFinite(samples) {
  for (let i = 0; i < samples.length; i++) {
    if (samples[i] - samples[i] !== 0) {
      throw new TandemError('NonFinite', `sample ${i} is ${samples[i]}; samples must be finite`, { index: i });
    }
  }
}
