// Chromium with a page of the test server.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';
import { startServer } from '../../demo/web/server.mjs';
import { clipsFolder, expectationsFolder, makeExpectations, makeGigaAmFiles, packageFolder, root } from '../web/files.mjs';

const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** A browser with a profile of its own, which is gone when it closes. `flags`: more arguments of Chromium. */
export async function launch(flags = []) {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-chromium-'));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: process.env.TANDEM_CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: [...ARGUMENTS, ...flags],
    viewport: { width: 1100, height: 1000 },
  });
  const close = async () => {
    await context.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  return { context, close };
}

/** A page of the tests, with the checks of tests/web as window.checks; errors of the page fail the test. */
export async function openTestPage() {
  makeExpectations();
  const models = mkdtempSync(join(tmpdir(), 'tandem-models-'));
  const server = await startServer({
    '/': join(root, 'tests/browser/page'),
    '/tandem/': packageFolder,
    '/checks/': join(root, 'tests/web'),
    '/golden/': join(root, 'tests/golden/silero'),
    '/goldens/': join(root, 'tests/golden'),
    '/models/': makeGigaAmFiles(models),
    '/clips/': clipsFolder,
    '/expectations/': expectationsFolder,
    '/weights/': join(root, 'node_modules/@ricky0123/vad-web/dist'),
    '/ort/': join(root, 'node_modules/onnxruntime-web/dist'),
  });
  const { context, close } = await launch();
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.setDefaultTimeout(600000);
  await page.goto(server.url);
  await page.waitForFunction(() => window.checks);
  return {
    page,
    errors,
    url: server.url,
    async close() {
      await close();
      await server.close();
      rmSync(models, { recursive: true });
    },
  };
}

/** The page for all tests of a file: `run` calls one of its checks, `errors` are those that it reported itself. */
export function useTestPage() {
  let opened;
  before(async () => {
    opened = await openTestPage();
  });
  after(() => opened?.close());
  return {
    run: (name, ...values) =>
      opened.page.evaluate(([check, parameters]) => window.checks[check](...parameters), [name, values]),
    errors: () => opened.errors,
  };
}
