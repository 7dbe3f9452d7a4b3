// Serves the demo page, the JavaScript package, the weights and a recording.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startServer } from './server.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A WAV file of 16-bit samples at 16 kHz. */
function wavOf(samples) {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(16000, 24);
  header.writeUInt32LE(32000, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

/** The sample of the page: sentences of an audio book, from Debian's package pocketsphinx-testdata, with pauses. */
function makeSample() {
  const folder = join(root, 'build/web/sample');
  const book = '/usr/share/pocketsphinx/test/data/librivox/sense_and_sensibility_01_austen_64kb-';
  const parts = ['0870', '0880', '0890'].map((number) => `${book}${number}.wav`);
  mkdirSync(folder, { recursive: true });
  if (parts.every((path) => existsSync(path))) {
    const pause = Buffer.alloc(32000 * 1.5);
    const samples = parts.flatMap((path) => {
      const bytes = readFileSync(path);
      return [bytes.subarray(bytes.indexOf('data') + 8), pause];
    });
    writeFileSync(join(folder, 'speech.wav'), wavOf(Buffer.concat(samples)));
  } else {
    console.log('no sample recording: install the Debian package pocketsphinx-testdata for one');
  }
  return folder;
}

export function startDemo(port = 0) {
  return startServer({
    '/': join(root, 'demo/web/page'),
    '/tandem/': join(root, 'build/web/tandem'),
    '/weights/': join(root, 'node_modules/@ricky0123/vad-web/dist'),
    '/sample/': makeSample(),
  }, port);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const port = Number(process.argv[2] ?? 8080);
  try {
    const { url } = await startDemo(port);
    console.log(`open ${url} (Ctrl+C ends)`);
  } catch (error) {
    console.error(error.code === 'EADDRINUSE' ? `port ${port} is taken; give another one` : error.message);
    process.exitCode = 1;
  }
}
