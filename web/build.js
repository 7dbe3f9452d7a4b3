/** Runs the build function of the innermost wrapper; C++ calls it, and an error must not pass through there. */
export function buildFor(engine) {
  return (handle) => {
    const frame = engine.operations.building.at(-1);
    try {
      frame.run();
      return 1;
    } catch (error) {
      frame.thrown = { error };
      try {
        engine.withCopies([String(error?.message ?? error)], (address) => engine.call('tandem_jit_refuse', handle, address));
      } catch {
        // The engine is broken or destroyed; what prepare() throws says so.
      }
      return 0;
    }
  };
}
