// What people do while something runs, and what happens to services.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anHour, becomes, openPage } from './browser.mjs';
import { contentOf, node, pill, saveDocument, set, trainingDocument } from './canvas.mjs';
import { withService } from './setup.mjs';

const parts = withService(['--workers', '2']);
// Long enough that nobody sees its end by chance; it is stopped.
const long = (name) => trainingDocument(100_000, name, 20_000);
const epochsSeen = (page) => page.locator('.now .live').innerText().then((said) => Number(/Epoch\s+([\d,]+)/.exec(said)?.[1].replaceAll(',', '') ?? 0));

async function until(question, enough = anHour) {
  for (const end = Date.now() + enough; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 100)))
    if (await question()) return;
  throw new Error(`it did not come: ${question}`);
}

test('a reload in the middle of a run shows it again, and it can be stopped', async () => {
  const saved = await saveDocument(parts.service, long('reload'));
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}` });
  await page.getByRole('button', { name: 'Run all' }).click();
  await pill(page, 'train', 'running').waitFor();
  await until(async () => (await epochsSeen(page)) > 0);
  const seen = await epochsSeen(page);
  await page.reload();
  await pill(page, 'train', 'running').waitFor();
  await pill(page, 'load', 'done|reused').waitFor();
  await until(async () => (await epochsSeen(page)) >= seen);
  await page.locator('.head').getByRole('button', { name: 'Stop' }).click();
  await pill(page, 'train', 'stopped').waitFor();
  await pill(page, 'evaluate', 'not run').waitFor();
  await page.getByRole('button', { name: 'Run all' }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('a service that is killed and started again in the middle of a run is found again, and nothing typed is lost', async () => {
  const saved = await saveDocument(parts.service, long('killed'));
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}` });
  await page.getByRole('button', { name: 'Run all' }).click();
  await until(async () => (await epochsSeen(page)) > 0);
  await parts.service.kill();
  await page.getByText('The service does not answer').waitFor();
  await node(page, 'model').click();
  await set(page, 'Epochs', '77');
  await page.getByText('kept in this browser', { exact: true }).waitFor();
  await parts.service.begin();
  await page.getByText('The service does not answer').waitFor({ state: 'hidden' });
  const seen = await epochsSeen(page);
  await until(async () => (await epochsSeen(page)) > seen);
  await page.reload();
  await page.getByText('What you had not saved is back.').waitFor();
  await node(page, 'model').click();
  await becomes(() => page.locator('.inspector').getByLabel('Epochs', { exact: true }).inputValue(), '77');
  await page.keyboard.press('Control+s');
  await page.getByText('saved', { exact: true }).waitFor();
  assert.equal(await contentOf(parts.service, saved.id), long('killed').replace('100000', '77'));
  await page.locator('.head').getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Run all' }).waitFor();
  await page.context().close();
});

test('of two tabs the second to save is refused, and has the choice', async () => {
  const saved = await saveDocument(parts.service, trainingDocument(3, 'tabs'));
  const first = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}` });
  const second = await first.context().newPage();
  await second.goto(`${parts.service.url}/documents/${saved.id}`);
  for (const [page, epochs] of [[first, '11'], [second, '22']]) {
    await node(page, 'model').click();
    await set(page, 'Epochs', epochs);
  }
  await first.getByRole('button', { name: 'Save', exact: true }).click();
  await first.getByText('saved', { exact: true }).waitFor();
  await second.getByRole('button', { name: 'Save', exact: true }).click();
  await second.getByText('Somebody else has saved version 2').waitFor();
  assert.match(await contentOf(parts.service, saved.id), /epochs: 11/);
  // Also after a reload nothing is overwritten.
  await second.reload();
  await second.getByText('Somebody else has saved version 2').waitFor();
  await node(second, 'model').click();
  await becomes(() => second.locator('.inspector').getByLabel('Epochs', { exact: true }).inputValue(), '22');
  await second.getByRole('button', { name: 'Save mine as a copy' }).click();
  await second.waitForURL((url) => !url.pathname.endsWith(saved.id));
  const copy = new URL(second.url()).pathname.split('/').at(-1);
  assert.match(await contentOf(parts.service, copy), /epochs: 22/);
  assert.match(await contentOf(parts.service, saved.id), /epochs: 11/);
  await first.context().close();
});

test('a card that fails says why in place, and the page is ready for the next run', async () => {
  const content = trainingDocument(3, 'failing').replace('inputs: { dataset: load.dataset }', 'inputs: { dataset: load.dataset }\n    config: { stratify_column: MEDV }');
  const saved = await saveDocument(parts.service, content);
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}` });
  await page.getByRole('button', { name: 'Run all' }).click();
  await pill(page, 'split', 'failed').waitFor();
  await pill(page, 'train', 'not run').waitFor();
  await node(page, 'split').click();
  await page.locator('.inspector .field-error', { hasText: 'occurs in a single row' }).waitFor();
  await set(page, 'Stratify column', '');
  await page.getByRole('button', { name: 'Run all' }).click();
  await pill(page, 'evaluate', 'done').waitFor();
  await page.context().close();
});

test('one card runs with what it needs, and no other', async () => {
  const saved = await saveDocument(parts.service, trainingDocument(4, 'partly'));
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}` });
  await node(page, 'split').click();
  await page.getByRole('button', { name: 'Run to here' }).click();
  await pill(page, 'split', 'done|reused').waitFor();
  await becomes(() => node(page, 'train').locator('.pill').count(), 0);
  await page.context().close();
});
