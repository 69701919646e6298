// The browser of the tests, and a page in it that is signed in.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';

// For everything that is waited for: a busy machine is no fault, and an hour only ends a test that hangs.
export const anHour = 3_600_000;

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

export function findBrowser() {
  const named = process.env.STOKER_BROWSER;
  if (named) return existsSync(named) ? named : null;
  for (const folder of (process.env.PATH ?? '').split(delimiter))
    for (const name of names) if (existsSync(join(folder, name))) return join(folder, name);
  return null;
}

export function launchBrowser(options = {}) {
  return chromium.launch({ executablePath: findBrowser(), args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout: anHour, ...options });
}

// A page of its own session. What goes wrong on it, a broken policy too, is kept in page.faults.
export async function openPage(browser, service, { path = '/', theme = 'light', size = { width: 1280, height: 720 }, token = service.token } = {}) {
  const context = await browser.newContext({ viewport: size, colorScheme: theme, acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(anHour);
  page.faults = [];
  // STOKER_SLOW_PAGES=10 makes the browser ten times slower, which shows tests that do not wait for what they look at.
  if (process.env.STOKER_SLOW_PAGES) {
    const protocol = await context.newCDPSession(page);
    await protocol.send('Emulation.setCPUThrottlingRate', { rate: Number(process.env.STOKER_SLOW_PAGES) });
  }
  page.on('pageerror', (error) => page.faults.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource|net::ERR/.test(message.text())) page.faults.push(message.text());
  });
  await page.goto(service.url + path);
  if (token) await signIn(page, token);
  return page;
}

export async function signIn(page, token) {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
}

// What a page shows may come a moment after the part that stands around it, so it is read until it is as expected: equal, or
// matched where a pattern is given.
export async function becomes(read, expected, patience = anHour) {
  const holds = expected instanceof RegExp ? assert.match : assert.deepEqual;
  for (const end = Date.now() + patience; ; await new Promise((wake) => setTimeout(wake, 50))) {
    const value = await read();
    try {
      return holds(value, expected);
    } catch (fault) {
      if (Date.now() > end) throw fault;
    }
  }
}

// Nothing that axe calls serious is on the page, once what moves on it has come to rest.
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export async function accessible(page, where) {
  await becomes(async () => {
    await page.evaluate(axe); // a script of its own, which the policy of the page would forbid
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    return serious.map(({ id, nodes }) => `${where}: ${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(' | ')}`);
  }, []);
}

// Parts of the pages beside the canvas.
export const rowsOf = (page, list) => page.getByRole('grid', { name: list }).locator('.list-row');
export const side = (page) => page.locator('aside.side');

export async function closeSound(page) {
  assert.deepEqual(page.faults, []);
  await page.context().close();
}
