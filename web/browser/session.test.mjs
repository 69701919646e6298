import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, openPage } from './browser.mjs';
import { withService } from './setup.mjs';

const parts = withService();

test('a token that is not good is told so, and a good one opens the pages', async () => {
  const page = await openPage(parts.browser, parts.service, { token: null });
  await page.getByLabel('Token').fill('stk_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('the token is not good').waitFor();
  await page.getByLabel('Token').fill(parts.service.token);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await page.getByRole('link', { name: 'Jobs' }).click();
  await becomes(() => new URL(page.url()).pathname, '/jobs');
  await page.reload();
  await page.getByRole('link', { name: 'Jobs' }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('a token that was revoked leads back to signing in', async () => {
  const made = await parts.service.ask('POST', '/api/tokens', { name: 'guest', role: 'user' });
  const page = await openPage(parts.browser, parts.service, { token: made.token });
  await parts.service.ask('DELETE', `/api/tokens/${made.id}`);
  // The service reads a session again once what it knows of it is a second old.
  const token = page.getByLabel('Token');
  do {
    await page.reload();
    await token.or(page.getByRole('navigation', { name: 'Pages' })).first().waitFor();
  } while (!(await token.isVisible()));
  await page.context().close();
});

test('everything that the page asks for comes from the service itself', async () => {
  const context = await parts.browser.newContext();
  const page = await context.newPage();
  const hosts = new Set();
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  await page.goto(parts.service.url);
  await page.getByLabel('Token').waitFor();
  assert.deepEqual([...hosts], [`127.0.0.1:${parts.service.port}`]);
  await context.close();
});
