import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startDemo } from '../../demo/web/serve.mjs';
import { root } from '../web/files.mjs';
import { launch } from './support.mjs';

let server;
let browser;
let page;
const errors = [];

before(async () => {
  server = await startDemo();
  browser = await launch();
  page = await browser.context.newPage();
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  await page.goto(server.url);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

const status = (text) =>
  page.waitForFunction((wanted) => document.getElementById('status').textContent.includes(wanted), text,
    { timeout: 120000 });
const rows = () => page.locator('#segments tr').count();

test('the sample recording: segments, facts, picture', async () => {
  await status('Ready');
  await page.click('#sample');
  await status('Done');
  assert.match(await page.textContent('#summary'), /^\d+ segments of speech, [\d.]+ s of [\d.]+ s/);
  assert.ok((await rows()) >= 3);
  assert.equal(await page.locator('#facts dd').count(), 6);
  const painted = await page.evaluate(() => {
    const canvas = document.getElementById('picture');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, i) => i % 4 === 3 && value > 0).length / (data.length / 4);
  });
  assert.ok(painted > 0.2, `${painted} of the picture is painted`);
  await page.screenshot({ path: join(root, 'build/web/demo.png'), fullPage: true });
});

test('the segments are those of the golden for a clip that is chosen as a file', async () => {
  await page.setInputFiles('#file', '/usr/share/pocketsphinx/test/data/librivox/sense_and_sensibility_01_austen_64kb-0870.wav');
  await status('Done: sense_and_sensibility');
  assert.equal(await page.textContent('#segments tr td:nth-child(2)'), '0:00.32');
  assert.equal(await page.textContent('#segments tr:last-child td:nth-child(3)'), '0:06.91');
});

test('a higher threshold and another model change the result', async () => {
  const before = await page.textContent('#summary');
  await page.fill('#threshold', '0.95');
  await page.waitForFunction((old) => document.getElementById('summary').textContent !== old, before);
  await page.fill('#threshold', '0.5');
  const v6 = await page.textContent('#facts dd:nth-of-type(1)');
  assert.ok(v6);
  await page.selectOption('#model', 'v5');
  await status('Preparing');
  await status('Done');
});

test('a file that is no sound is refused in words, and the page goes on', async () => {
  await page.setInputFiles('#file', { name: 'text.wav', mimeType: 'audio/wav', buffer: Buffer.from('no sound') });
  await status('cannot read the file as sound');
  await page.click('#sample');
  await status('Done');
});

test('every control has a name, and a narrow window needs no sideways scrolling', async () => {
  const unnamed = await page.evaluate(() =>
    [...document.querySelectorAll('button, input, select, canvas')].filter((element) =>
      !(element.labels?.length || element.textContent.trim() || element.getAttribute('aria-label'))).map((e) => e.outerHTML));
  assert.deepEqual(unnamed, []);
  await page.setViewportSize({ width: 380, height: 800 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
  await page.screenshot({ path: join(root, 'build/web/demo-narrow.png'), fullPage: true });
});

test('the page reported no errors beyond the file that is no sound', () => {
  assert.deepEqual(errors.filter((text) => !text.includes('cannot read the file as sound')), []);
});
