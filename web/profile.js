import { TandemError, numberOf, optionsOf } from './errors.js';

/** Repetitions of a profiled run, when they are not given: enough for kernels of a microsecond. */
const REPETITIONS = 100;

/** Milliseconds of the best clock that there is. */
export function now() {
  return globalThis.performance ? performance.now() : Date.now();
}

/**
 * Measures with `run(repetitions)`, `usual` of them if none are given, which returns the number of kernels (below 0: it
 * failed), and returns a row for each call of a kernel. The same goes onto the timeline of the page: DevTools shows a track "tandem", the kernels side by side as long as they took.
 */
export function profiled(engine, label, given, run, usual = REPETITIONS) {
  const options = optionsOf('executeProfiled()', given, ['repetitions', 'marks']);
  const repetitions = numberOf('repetitions', options.repetitions ?? usual);
  if (!(Number.isInteger(repetitions) && repetitions >= 1 && repetitions <= 1e6)) {
    throw new TandemError('InvalidArgument', `repetitions is ${repetitions}; it must be a whole number from 1 to 1000000`);
  }
  const began = globalThis.performance?.now() ?? 0;
  const count = run(repetitions);
  if (count < 0) throw engine.failure();
  const kernels = [];
  for (let row = 0; row < count; row++) {
    const number = (which) => engine.call('tandem_profile_number', row, which);
    const text = (which) => engine.text(engine.call('tandem_profile_text', row, which));
    kernels.push({
      kernel: text(0), origin: text(1), flops: number(0), bytes: number(1), seconds: number(2), share: number(3),
    });
  }
  if (options.marks !== false) markKernels(label, kernels, began, repetitions);
  return kernels;
}

function markKernels(label, kernels, began, repetitions) {
  if (typeof globalThis.performance?.measure !== 'function') return;
  let start = began;
  for (const { kernel, origin, flops, bytes, seconds, share } of kernels) {
    const duration = seconds * 1000;
    const rate = seconds > 0 ? `${(flops / seconds / 1e9).toFixed(2)} GFLOP/s` : '';
    performance.measure(`tandem: ${kernel}`, {
      start,
      duration,
      detail: {
        // Chromium's DevTools make a track of their own of these.
        devtools: {
          dataType: 'track-entry',
          trackGroup: 'tandem',
          track: label,
          color: 'primary',
          tooltipText: origin || kernel,
          properties: [
            ['origin', origin], ['flops', String(flops)], ['bytes', String(bytes)], ['rate', rate],
            ['share', `${(100 * share).toFixed(1)} %`], ['mean of', `${repetitions} runs`],
          ],
        },
        kernel, origin, flops, bytes, seconds, share, repetitions,
      },
    });
    start += duration;
  }
}
