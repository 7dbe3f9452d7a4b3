// A static file server without dependencies, for the demo and for the browser tests.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
  '.wav': 'audio/wav',
  '.svg': 'image/svg+xml',
};

/** The only permission beyond the page's own files: compiling WebAssembly. */
export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; worker-src 'self'; media-src 'self' blob:; base-uri 'none'; form-action 'none'";

/** Path of the file that an address means; null outside the folders. `folders`: prefix of the address -> folder. */
function fileOf(folders, address) {
  let path;
  try {
    path = decodeURIComponent(new URL(address, 'http://localhost').pathname);
  } catch {
    return null;
  }
  if (path.endsWith('/')) path += 'index.html';
  const prefix = Object.keys(folders).filter((one) => path.startsWith(one)).sort((a, b) => b.length - a.length)[0];
  if (prefix === undefined) return null;
  const folder = normalize(folders[prefix]);
  const file = normalize(join(folder, path.slice(prefix.length)));
  return file === folder || file.startsWith(folder.endsWith(sep) ? folder : folder + sep) ? file : null;
}

/**
 * Serves the folders to this machine only; resolves to { url, close() }. Port 0: any that is free. `cacheControl`: how
 * long browsers may keep what they get. `policy`: the content security policy; empty for none.
 */
export function startServer(folders, port = 0, { cacheControl = 'no-cache', policy = CONTENT_SECURITY_POLICY } = {}) {
  const server = createServer((request, response) => {
    const file = fileOf(folders, request.url);
    const status = file && statSync(file, { throwIfNoEntry: false });
    const headers = {
      ...(policy && { 'content-security-policy': policy }),
      'cache-control': cacheControl,
      'x-content-type-options': 'nosniff',
    };
    if (!status?.isFile()) {
      response.writeHead(404, { ...headers, 'content-type': 'text/plain' });
      response.end('not found\n');
      return;
    }
    const type = TYPES[extname(file)] ?? 'application/octet-stream';
    // With the length a page can show how much is still to come.
    response.writeHead(200, { ...headers, 'content-type': type, 'content-length': status.size });
    createReadStream(file).pipe(response);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const close = () =>
        new Promise((done) => {
          server.close(done);
          server.closeAllConnections();
        });
      resolve({ url: `http://127.0.0.1:${server.address().port}/`, close });
    });
  });
}
