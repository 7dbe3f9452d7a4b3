// What tuning found, kept for the next visit.
import { TandemError, describe } from './errors.js';

const CACHE = 'tandem';

/** Under which a browser's cache keeps a text of this engine; nothing where there is no such cache. */
function place() {
  if (typeof caches === 'undefined' || typeof location === 'undefined' || !/^http/.test(location.protocol)) return undefined;
  return new URL('/tandem-tiles', location.origin).href;
}

/** The cache that pages and workers of an origin share. Another version of the browser measures anew. */
const browserStore = {
  async read() {
    const response = place() && (await (await caches.open(CACHE)).match(place()));
    if (!response || response.headers.get('x-browser') !== navigator.userAgent) return undefined;
    return response.text();
  },
  async write(text) {
    if (!place()) return;
    await (await caches.open(CACHE)).put(place(), new Response(text, { headers: { 'x-browser': navigator.userAgent } }));
  },
};

/** The tiles of an engine and where they are kept. What the store can't do costs the next visit some time, no more. */
export class Tiles {
  #engine;
  #store;
  #read;
  #writing = Promise.resolve();
  #stored = 0;

  constructor(engine, store = browserStore) {
    if (typeof store?.read !== 'function' || typeof store?.write !== 'function') {
      throw new TandemError(
        'InvalidArgument', `tileStore is ${describe(store)}; it must have the functions read() and write(text)`);
    }
    this.#engine = engine;
    this.#store = store;
  }

  /** Takes over what was kept, once. */
  read() {
    return (this.#read ??= this.#readNow());
  }

  async #readNow() {
    const text = await Promise.resolve().then(() => this.#store.read()).catch(() => undefined);
    if (typeof text !== 'string' || !this.#engine.isLive) return;
    const before = this.#count();
    this.#engine.withCopies([text], (address) => this.#engine.call('tandem_read_tiles', address));
    this.#stored += this.#count() - before;
  }

  /** Keeps what is known by now, in the background, if there is something new. */
  keep() {
    this.#writing = this.#writing.then(async () => {
      // What an earlier visit found is not to be lost.
      await this.read();
      if (!this.#engine.isLive || this.#count() === this.#stored) return;
      this.#stored = this.#count();
      await this.#store.write(this.#engine.text(this.#engine.call('tandem_tiles')));
    }).catch(() => {});
  }

  #count() {
    return this.#engine.call('tandem_tile_count');
  }
}
