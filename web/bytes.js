import { TandemError, describe } from './errors.js';

const inNode = typeof process === 'object' && Boolean(process.versions?.node) && typeof window === 'undefined';

async function readFile(path, what) {
  // The name stands in a variable so that bundlers for the web leave it alone.
  const fileSystem = 'node:fs/promises';
  try {
    const { readFile: read } = await import(/* webpackIgnore: true */ /* @vite-ignore */ fileSystem);
    return new Uint8Array(await read(path));
  } catch (error) {
    throw new TandemError('NotFound', `${what}: the file ${path} could not be read (${error.message})`, {
      url: String(path),
    });
  }
}

async function respond(url, what) {
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

async function download(url, what) {
  return new Uint8Array(await (await respond(url, what)).arrayBuffer());
}

function absolute(text) {
  return new URL(text, globalThis.document?.baseURI ?? globalThis.location?.href).href;
}

/**
 * The bytes of a buffer, a URL, or in Node also a file path. Files are read by the file system in Node, where `fetch`
 * refuses them.
 */
export async function bytesOf(source, what) {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (typeof SharedArrayBuffer !== 'undefined' && source instanceof SharedArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (!(source instanceof URL) && typeof source !== 'string') {
    throw new TandemError('InvalidArgument', `${what} is ${describe(source)}; give bytes, a URL or a path`);
  }
  const text = String(source);
  if (!inNode) return download(absolute(text), what);
  if (/^(https?|data|blob):/.test(text)) return download(text, what);
  return readFile(text.startsWith('file:') ? new URL(text) : text, what);
}

/**
 * WebAssembly as bytes, or compiled while it arrives where it comes from a server that says what it is: the browser keeps
 * the optimised code of such a module beside the file, so that the next visit starts with it.
 */
export async function wasmOf(source, what) {
  const isAddress = typeof source === 'string' || source instanceof URL;
  if (inNode || !isAddress || typeof WebAssembly.compileStreaming !== 'function') return wasmBytesOf(source, what);
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
  const where = typeof source === 'string' || source instanceof URL ? ` from ${source}` : '';
  throw new TandemError(
    'Load',
    `${what}: what came${where} is not WebAssembly; its ${bytes.length} bytes begin with "${start}"`,
    where ? { url: String(source) } : {},
  );
}
