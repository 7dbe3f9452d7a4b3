// Silero VAD v5 at 16 kHz, written with the JavaScript interface: a real model in the same words as core/models/silero.cc.

const PREFIX = 'If_0_then_branch__Inline_0__';

export class SileroModel {
  constructor(weights) {
    const take = (name) => weights.tensor(PREFIX + name);
    this.basis = take('stft.forward_basis_buffer');
    this.convolutions = [0, 1, 2, 3].map((i) => ({
      weight: take(`encoder.${i}.reparam_conv.weight`),
      bias: take(`encoder.${i}.reparam_conv.bias`),
      options: { stride: i === 1 || i === 2 ? 2 : 1, padding: 1 },
    }));
    this.lstm = ['weight_ih', 'weight_hh', 'bias_ih', 'bias_hh'].map((name) => take(`decoder.rnn.${name}`));
    this.finalWeight = take('decoder.decoder.2.weight');
    this.finalBias = take('decoder.decoder.2.bias');
  }

  /** chunk [1, 576]: 64 samples of context and 512 new ones. */
  step(chunk, h, c) {
    const signal = chunk.reflectPad([[0, 0], [0, 64]]).unsqueeze(1);
    const [real, imaginary] = signal.conv1d(this.basis, undefined, { stride: 128 }).chunk(1, 2);
    let x = real.mul(real).add(imaginary.mul(imaginary)).sqrt();
    for (const { weight, bias, options } of this.convolutions) x = x.conv1d(weight, bias, options).relu();
    const state = x.squeeze(2).lstmCell(h, c, ...this.lstm);
    const speech = state.h.relu().unsqueeze(2).conv1d(this.finalWeight, this.finalBias.reshape([1])).sigmoid();
    return { probability: speech.mean([2]), ...state };
  }
}

const hidden = { dtype: 'f32', shape: [1, 128] };
const chunk = { dtype: 'f32', shape: [1, 576] };

/** The state stays in the plan. */
export function sileroStream(engine, model) {
  return engine.jit({
    name: 'silero', model, inputs: { chunk }, state: { h: hidden, c: hidden }, outputs: { probability: 'f32' },
    build: (t, ops, silero) => silero.step(t.chunk, t.h, t.c),
  });
}

/** The state is kept by JavaScript. */
export function sileroRecurrent(engine, model, options) {
  const jit = engine.jit({
    name: 'silero', model, inputs: { chunk, h: hidden, c: hidden },
    build({ chunk: samples, h, c }, { concat }, silero) {
      const step = silero.step(samples, h, c);
      return concat([step.probability, step.h, step.c], 1);
    },
  });
  return engine.recurrent(jit.prepare({}, options), { head: 1 });
}

/** Chunks of 576 samples: 64 of the one before, then 512, the last one filled with zeros. */
export function chunksOf(samples) {
  const count = Math.ceil(samples.length / 512);
  const padded = new Float32Array(64 + 512 * count);
  padded.set(samples, 64);
  return Array.from({ length: count }, (_, i) => padded.subarray(512 * i, 512 * i + 576));
}

/** Golden clips of v5 through both forms; sentences about what is wrong. */
export async function checkSilero(engine, { weights, golden, samplesOf, numerics }) {
  const problems = [];
  let worst = 0;
  const file = await engine.weights(weights);
  const model = new SileroModel(file);
  const stream = sileroStream(engine, model).prepare({}, { numerics });
  const recurrent = sileroRecurrent(engine, model, { numerics });
  // A prepared wrapper has taken what it needs.
  file.destroy();
  for (const clip of golden.clips) {
    stream.reset();
    recurrent.reset();
    const samples = await samplesOf(clip.id);
    chunksOf(samples).forEach((window, i) => {
      const [probability] = stream.step({ chunk: window });
      const [same] = recurrent.step({ chunk: window });
      worst = Math.max(worst, Math.abs(probability - clip.probs[i]));
      if (same !== probability) problems.push(`${clip.id}, window ${i}: ${same} with the state outside, ${probability} inside`);
    });
    for (const key of ['h', 'c']) {
      const inside = stream.state(key).data;
      if (!recurrent.state[key].every((value, i) => value === inside[i])) problems.push(`${clip.id}: other bits in ${key}`);
    }
  }
  if (!(worst <= 2e-5)) problems.push(`a probability differs by ${worst}`);
  stream.destroy();
  recurrent.jit.destroy();
  return { problems: problems.slice(0, 10), worst, clips: golden.clips.length };
}
