// A sound file as mono samples at 16 kHz.

export const SAMPLE_RATE = 16000;

/** Decodes any format that the browser knows; the offline context resamples while decoding. */
export async function decode(bytes) {
  const context = new OfflineAudioContext(1, 1, SAMPLE_RATE);
  let buffer;
  try {
    buffer = await context.decodeAudioData(bytes);
  } catch {
    throw new Error('this browser cannot read the file as sound; try WAV, FLAC, MP3 or Ogg');
  }
  const samples = buffer.getChannelData(0).slice();
  for (let channel = 1; channel < buffer.numberOfChannels; channel++) {
    const other = buffer.getChannelData(channel);
    for (let i = 0; i < samples.length; i++) samples[i] += other[i];
  }
  if (buffer.numberOfChannels > 1) for (let i = 0; i < samples.length; i++) samples[i] /= buffer.numberOfChannels;
  if (samples.length === 0) throw new Error('the file holds no sound');
  return samples;
}

/** The probability of each window of 512 samples, in slices, so that the page stays alive; `onProgress(0 .. 1)`. */
export async function detect(vad, samples, onProgress) {
  const parts = [];
  const slice = 64 * vad.windowSamples;
  let busy = 0;
  vad.reset();
  for (let start = 0; start < samples.length; start += slice) {
    const began = performance.now();
    parts.push(vad.process(samples.subarray(start, start + slice)));
    busy += performance.now() - began;
    onProgress(Math.min(1, (start + slice) / samples.length));
    await new Promise((resolve) => setTimeout(resolve));
  }
  parts.push(vad.flush());
  const probabilities = Float32Array.from(parts.flatMap((part) => Array.from(part)));
  return { probabilities, milliseconds: busy };
}
