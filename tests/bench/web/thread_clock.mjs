// The CPU time of a page's own thread, which other programs disturb least.

/**
 * A function that gives the milliseconds that the page's thread has worked, in tasks that are over. The page can call it
 * too: `await threadMilliseconds()`.
 */
export async function threadClock(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const clock = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1000 * metrics.find(({ name }) => name === 'TaskDuration').value;
  };
  await page.exposeFunction('threadMilliseconds', clock);
  return clock;
}

/** Opens a page that measures, with the clock, and waits until it can: until it has a function `measure`. */
export async function openMeasuringPage(context, url, timeout = 600000) {
  const page = await context.newPage();
  page.on('pageerror', (error) => console.error(String(error)));
  page.setDefaultTimeout(timeout);
  await threadClock(page);
  await page.goto(url);
  await page.waitForFunction(() => window.measure);
  return page;
}
