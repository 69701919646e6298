// The browser of the tests, and a page in it that is signed in.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

export function findBrowser() {
  const named = process.env.STOKER_BROWSER;
  if (named) return existsSync(named) ? named : null;
  for (const folder of (process.env.PATH ?? '').split(delimiter))
    for (const name of names) if (existsSync(join(folder, name))) return join(folder, name);
  return null;
}

export function launchBrowser(options = {}) {
  return chromium.launch({ executablePath: findBrowser(), args: ['--no-sandbox', '--disable-dev-shm-usage'], ...options });
}

// A page of its own session. What goes wrong on it, a broken policy too, is kept in page.faults.
export async function openPage(browser, service, { path = '/', theme = 'light', size = { width: 1280, height: 720 }, token = service.token } = {}) {
  const context = await browser.newContext({ viewport: size, colorScheme: theme, acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.faults = [];
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
