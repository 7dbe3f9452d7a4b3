import { TandemError, describe } from './errors.js';

export const inNode = typeof process === 'object' && Boolean(process.versions?.node) && typeof window === 'undefined';

/** Calls `use` with the file system of Node.js; what fails there is a NotFound error. */
export async function withFiles(path, what, use) {
  // The name stands in a variable so that bundlers for the web leave it alone.
  const fileSystem = 'node:fs/promises';
  try {
    return await use(await import(/* webpackIgnore: true */ /* @vite-ignore */ fileSystem));
  } catch (error) {
    if (error instanceof TandemError) throw error;
    throw new TandemError('NotFound', `${what}: the file ${path} could not be read (${error.message})`, {
      url: String(path),
    });
  }
}

/** The answer of a server that has it. */
export async function respond(url, what) {
  let response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new TandemError('Load', `${what}: ${url} could not be fetched (${error.message})`, { url });
  }
  if (!response.ok) {
    throw new TandemError('Load', `${what}: ${url} answered ${response.status} ${response.statusText}`.trimEnd(), {
      url,
      status: response.status,
    });
  }
  return response;
}

/** A relative URL means the same in a worker and on the page. */
export function absolute(text) {
  return new URL(text, globalThis.document?.baseURI ?? globalThis.location?.href).href;
}

export function isAddress(source) {
  return typeof source === 'string' || source instanceof URL;
}

/** What an address leads to: { url } for a server, or { path } for a file of Node.js. */
export function placeOf(address) {
  const text = String(address);
  if (!inNode) return { url: absolute(text) };
  if (/^(https?|data|blob):/.test(text)) return { url: text };
  return { path: text.startsWith('file:') ? new URL(text) : text };
}

/** Bytes that are here already, or nothing for an address. */
export function bytesHere(source, what) {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (typeof SharedArrayBuffer !== 'undefined' && source instanceof SharedArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (isAddress(source)) return undefined;
  throw new TandemError('InvalidArgument', `${what} is ${describe(source)}; give bytes, a URL or a path`);
}

/**
 * The bytes of a buffer, a URL, or in Node also a file path. Files are read by the file system in Node, where `fetch`
 * refuses them.
 */
export async function bytesOf(source, what) {
  const bytes = bytesHere(source, what);
  if (bytes) return bytes;
  const { url, path } = placeOf(source);
  if (path !== undefined) return withFiles(path, what, async ({ readFile }) => new Uint8Array(await readFile(path)));
  return new Uint8Array(await (await respond(url, what)).arrayBuffer());
}

/**
 * WebAssembly as bytes, or compiled while it arrives where it comes from a server that says what it is: the browser keeps
 * the optimised code of such a module beside the file, so that the next visit starts with it.
 */
export async function wasmOf(source, what) {
  if (inNode || !isAddress(source) || typeof WebAssembly.compileStreaming !== 'function') return wasmBytesOf(source, what);
  const response = await respond(absolute(String(source)), what);
  if (response.headers.get('content-type')?.split(';')[0].trim() === 'application/wasm') {
    try {
      return await WebAssembly.compileStreaming(response);
    } catch {
      // Read again as bytes, for an error that says what is wrong with them.
      return wasmBytesOf(source, what);
    }
  }
  return checkedWasm(new Uint8Array(await response.arrayBuffer()), source, what);
}

/** The same for WebAssembly: says what came instead, since servers like to answer with a page. */
async function wasmBytesOf(source, what) {
  return checkedWasm(await bytesOf(source, what), source, what);
}

function checkedWasm(bytes, source, what) {
  if (bytes.length >= 8 && bytes[0] === 0 && bytes[1] === 0x61 && bytes[2] === 0x73 && bytes[3] === 0x6d) return bytes;
  const start = Array.from(bytes.subarray(0, 40), (byte) =>
    byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.').join('');
  const where = isAddress(source) ? ` from ${source}` : '';
  throw new TandemError(
    'Load',
    `${what}: what came${where} is not WebAssembly; its ${bytes.length} bytes begin with "${start}"`,
    where ? { url: String(source) } : {},
  );
}
