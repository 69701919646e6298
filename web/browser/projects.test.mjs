// The project that one works in: shown in the head, switched there, and nothing of another is on the page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, closeSound, openPage, rowsOf } from './browser.mjs';
import { withService } from './setup.mjs';

const parts = withService();
const dataset = (id, project) => parts.service.ask('POST', `/api/datasets/generate?project=${project}`, { id, sample: 'boston_housing', rows: 20 });
const datasetsOn = (page) => async () => (await rowsOf(page, 'Datasets').allTextContents()).join(' ');

test('a token of two projects switches between them, and what it may do follows', async () => {
  const other = await parts.service.ask('POST', '/api/projects', { name: 'wells' });
  await dataset('in-default', 'default');
  await dataset('in-wells', other.id);
  const { token } = await parts.service.ask('POST', '/api/tokens', { name: 'anna', projects: { default: 'user', [other.id]: 'viewer' } });
  const page = await openPage(parts.browser, parts.service, { path: '/data', token });
  await becomes(datasetsOn(page), /in-default/);
  assert.doesNotMatch(await datasetsOn(page)(), /in-wells/);
  await page.getByRole('button', { name: 'Upload' }).waitFor();
  // The page is loaded anew.
  await Promise.all([page.waitForEvent('load'), page.getByLabel('Project').selectOption({ label: 'wells' })]);
  // The canvas is open, whose buttons must not lie over the links.
  await page.getByRole('button', { name: 'Run all' }).waitFor();
  await page.getByRole('link', { name: 'Data' }).click();
  await becomes(datasetsOn(page), /in-wells/);
  assert.doesNotMatch(await datasetsOn(page)(), /in-default/);
  assert.equal(await page.getByRole('button', { name: 'Upload' }).count(), 0);
  await page.reload();
  await becomes(datasetsOn(page), /in-wells/);
  await closeSound(page);
});

test('a token of one project shows its name and has no choice', async () => {
  const { token } = await parts.service.ask('POST', '/api/tokens', { name: 'vera', role: 'viewer' });
  const page = await openPage(parts.browser, parts.service, { path: '/data', token });
  await page.getByTitle('Project').filter({ hasText: 'default' }).waitFor();
  assert.equal(await page.getByLabel('Project').count(), 0);
  await closeSound(page);
});

test('a document that is opened by its address brings its project with it', async () => {
  const other = await parts.service.ask('POST', '/api/projects', { name: 'cubes' });
  const saved = await parts.service.ask('POST', `/api/projects/${other.id}/documents`, { name: 'elsewhere', content: 'version: 1\nname: elsewhere\ncards: {}\n' });
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}` });
  await becomes(() => page.getByLabel('Project').inputValue(), other.id);
  await closeSound(page);
});
