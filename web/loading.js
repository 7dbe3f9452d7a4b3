// Large files on their way into the engine: piece by piece, so that one whose size is known is never in memory twice.
import { bytesHere, placeOf, respond, withFiles } from './bytes.js';
import { TandemError } from './errors.js';

const PIECE = 1 << 22;

async function* piecesOfAnswer(response, url, what) {
  const reader = response.body.getReader();
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      size += value.length;
      yield value;
    }
  } catch (error) {
    if (error instanceof TandemError) throw error;
    throw new TandemError('Load', `${what}: ${url} broke off after ${size} bytes (${error.message})`, { url });
  } finally {
    reader.cancel().catch(() => {});
  }
}

async function* piecesOfFile(file, path, what) {
  const piece = new Uint8Array(PIECE);
  try {
    for (;;) {
      const { bytesRead } = await withFiles(path, what, () => file.read(piece, 0, PIECE));
      if (bytesRead === 0) return;
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** A file that can be read: { size, pieces }, the size if it is known. */
export async function openSource(source, what) {
  const bytes = bytesHere(source, what);
  if (bytes) return { size: bytes.length, pieces: [bytes], close() {} };
  const { url, path } = placeOf(source);
  if (path !== undefined) {
    return withFiles(path, what, async ({ open }) => {
      const file = await open(path);
      const status = await file.stat();
      return { size: status.size, pieces: piecesOfFile(file, path, what), close: () => file.close().catch(() => {}) };
    });
  }
  const response = await respond(url, what);
  // What is packed on the way has another length here.
  const length = response.headers.get('content-encoding') ? NaN : Number(response.headers.get('content-length') ?? NaN);
  return {
    size: Number.isSafeInteger(length) ? length : undefined,
    pieces: piecesOfAnswer(response, url, what),
    close: () => response.body.locked || response.body.cancel().catch(() => {}),
  };
}

/** Copies a file into the engine's memory; `onPiece(bytes)` after each piece. Gives { address, size }; the caller frees it. */
export async function readInto(engine, { size: expected, pieces }, onPiece) {
  let address = engine.reserve(Math.max(expected ?? 0, 1));
  let size = 0;
  // What comes beyond the size that was known, if any was.
  const more = [];
  try {
    for await (const piece of pieces) {
      engine.check();
      if (more.length || size + piece.length > (expected ?? 0)) more.push(piece.slice());
      else engine.view(Uint8Array, address + size, piece.length).set(piece);
      size += piece.length;
      onPiece(piece.length);
    }
    engine.check();
    if (more.length) {
      const larger = engine.reserve(size);
      let end = size - more.reduce((sum, { length }) => sum + length, 0);
      engine.view(Uint8Array, larger, end).set(engine.view(Uint8Array, address, end));
      engine.call('free', address);
      address = larger;
      for (const piece of more) {
        engine.view(Uint8Array, address + end, piece.length).set(piece);
        end += piece.length;
      }
    }
    return { address, size };
  } catch (error) {
    if (engine.isLive) engine.call('free', address);
    throw error;
  }
}
