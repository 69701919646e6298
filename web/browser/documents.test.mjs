// Documents go in and out as they are, and the page is fit for everybody.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { accessible, becomes, closeSound, openPage, signIn } from './browser.mjs';
import { contentOf, node, saveDocument, set, trainingDocument } from './canvas.mjs';
import { withService } from './setup.mjs';

const parts = withService();
const example = (name) => readFileSync(new URL(`../../examples/${name}`, import.meta.url), 'utf8');

async function downloaded(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path(), 'utf8') };
}

test('a file is opened, and goes out again byte for byte', async () => {
  const page = await openPage(parts.browser, parts.service);
  await page.getByRole('tab', { name: 'Documents' }).click();
  const content = `${example('boston_housing.yaml')}\n# the end\n`;
  await page.locator('input[type=file]').setInputFiles({ name: 'a.yaml', mimeType: 'application/yaml', buffer: Buffer.from(content) });
  await node(page, 'evaluate').waitFor();
  const out = await downloaded(page, 'Download YAML');
  assert.equal(out.name, 'boston-housing.yaml');
  assert.equal(out.content, content);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('saved', { exact: true }).waitFor();
  assert.equal(await contentOf(parts.service, new URL(page.url()).pathname.split('/').at(-1)), content);
  const json = JSON.parse((await downloaded(page, 'Download JSON')).content);
  assert.deepEqual(json.cards.split.inputs, { dataset: 'load.dataset' });
  await page.context().close();
});

test('a document of earlier canvases is upgraded with everything in it', async () => {
  const page = await openPage(parts.browser, parts.service);
  await page.getByRole('tab', { name: 'Documents' }).click();
  await page.locator('input[type=file]').setInputFiles({ name: 'seed.json', mimeType: 'application/json', buffer: Buffer.from(example('seed_pipeline.json')) });
  await page.getByText('This document was in an earlier form').waitFor();
  await becomes(() => page.locator('.react-flow__edge').count(), 5);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('saved', { exact: true }).waitFor();
  const saved = JSON.parse(await contentOf(parts.service, new URL(page.url()).pathname.split('/').at(-1)));
  assert.equal(saved.version, 1);
  assert.equal(saved.cards.model.config.hyperparameters.alpha, 1);
  await page.context().close();
});

test('an earlier version is brought back, and what a file says wrongly is told', async () => {
  const saved = await saveDocument(parts.service, trainingDocument(3, 'versions'));
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}` });
  await node(page, 'model').click();
  await set(page, 'Epochs', '9');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('saved', { exact: true }).waitFor();
  await page.getByRole('tab', { name: 'Documents' }).click();
  await page.getByRole('button', { name: 'Bring back version 1' }).click();
  await page.getByText('Version 1 is on the canvas').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('saved', { exact: true }).waitFor();
  assert.equal((await parts.service.ask('GET', `/api/documents/${saved.id}`)).version, 3);
  assert.match(await contentOf(parts.service, saved.id), /epochs: 3/);
  await page.locator('input[type=file]').setInputFiles({ name: 'b.yaml', mimeType: 'application/yaml', buffer: Buffer.from('a: [1') });
  await page.getByText('This is not a document').waitFor();
  await node(page, 'model').waitFor();
  await page.context().close();
});

test('another page and back finds the document as it was left, and another document has no states of the first', async () => {
  const saved = await saveDocument(parts.service, trainingDocument(3, 'back'));
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}` });
  await page.getByRole('button', { name: 'Run all' }).click();
  await node(page, 'evaluate').locator('.pill.ok').waitFor();
  await node(page, 'model').click();
  await set(page, 'Epochs', '5');
  await page.getByRole('link', { name: 'Jobs' }).click();
  await page.getByRole('link', { name: 'Canvas' }).click();
  await becomes(() => new URL(page.url()).pathname, `/documents/${saved.id}`);
  await node(page, 'model').click();
  await becomes(() => page.locator('.inspector').getByLabel('Epochs', { exact: true }).inputValue(), '5');
  await page.getByRole('tab', { name: 'Documents' }).click();
  await page.getByRole('button', { name: 'Boston housing' }).click();
  await page.waitForURL((url) => url.pathname === '/');
  await node(page, 'evaluate').waitFor();
  await becomes(() => page.locator('.card .pill').count(), 0);
  await page.context().close();
});

test('the first step of a training is taken apart into its eight parts', async () => {
  const saved = await saveDocument(parts.service, trainingDocument(3, 'apart'));
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}` });
  await node(page, 'train').click();
  await page.getByRole('tab', { name: 'Steps' }).click();
  await page.getByRole('button', { name: 'Take the first step apart' }).click();
  const steps = page.locator('.steps > li');
  await steps.nth(7).waitFor();
  await becomes(() => steps.count(), 8);
  // The numbers are those that the service tells.
  const content = await contentOf(parts.service, saved.id);
  const told = await parts.service.ask('POST', '/api/documents/step', { content, card: 'train', rows: 8 });
  const loss = told.steps.find((step) => step.step === 'loss').mean;
  await steps.nth(5).getByText(loss.toLocaleString('en', { maximumSignificantDigits: 5 })).first().waitFor();
  await page.context().close();
});

test('a document of the cards of one training step opens, runs and shows its numbers', async () => {
  const page = await openPage(parts.browser, parts.service);
  await page.getByRole('button', { name: /^One training step/ }).click();
  await page.getByRole('button', { name: 'Run all' }).click();
  await node(page, 'step').locator('.pill.ok').waitFor();
  await node(page, 'loss').click();
  await page.getByRole('tab', { name: 'Preview' }).click();
  await page.locator('.inspector').getByText('Mean', { exact: true }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('a document that is opened while the page still asks what there is stays open', async () => {
  const page = await openPage(parts.browser, parts.service, { token: null });
  await page.route('**/api/cards', async (route) => {
    await new Promise((wake) => setTimeout(wake, 1500));
    await route.continue();
  });
  await signIn(page, parts.service.token);
  await page.getByRole('tab', { name: 'Documents' }).click();
  await page.getByRole('button', { name: 'Blobs', exact: true }).last().click();
  await node(page, 'evaluate').waitFor();
  await closeSound(page);
});

test('a document that was never saved comes back by undo, and one that is saved is not deleted by one click', async () => {
  const page = await openPage(parts.browser, parts.service);
  await page.getByRole('tab', { name: 'Documents' }).click();
  await page.getByRole('button', { name: 'Blobs', exact: true }).last().click();
  await node(page, 'evaluate').waitFor();
  await page.getByRole('button', { name: 'New', exact: true }).click();
  await page.getByText('Undo brings it back').waitFor();
  await becomes(() => node(page, 'evaluate').count(), 0);
  await page.getByRole('button', { name: 'Undo', exact: true }).click();
  await node(page, 'evaluate').waitFor();
  // Twice at once is once.
  await page.getByRole('button', { name: 'Save', exact: true }).dblclick();
  await page.getByText('saved', { exact: true }).waitFor();
  await becomes(() => page.getByText('Somebody else').count(), 0);
  const own = page.getByRole('link', { name: 'blobs', exact: true });
  await page.getByRole('button', { name: 'Remove blobs' }).click();
  await page.getByRole('button', { name: 'Keep it' }).click();
  await becomes(() => own.count(), 1);
  await page.getByRole('button', { name: 'Remove blobs' }).click();
  await page.getByRole('button', { name: 'Delete it' }).click();
  await own.waitFor({ state: 'detached' });
  await page.context().close();
});

test('pages look the same whether the canvas was open before or not', async () => {
  const page = await openPage(parts.browser, parts.service);
  const places = () => page.locator('.regions > *').evaluateAll((all) => all.map((each) => { const { x, y, width, height } = each.getBoundingClientRect(); return [each.className, x, y, width, height].join(' '); }));
  for (const name of ['Data', 'Jobs', 'Runs', 'Models']) {
    await page.getByRole('link', { name: 'Canvas' }).click();
    await page.locator('.canvas-area').waitFor();
    await page.getByRole('link', { name, exact: true }).click();
    await page.locator('.regions').waitFor();
    const after = await places();
    await page.reload();
    await page.locator('.regions').waitFor();
    await becomes(places, after);
  }
  await page.context().close();
});

test('copy, paste and delete, and all of it undone', async () => {
  const saved = await saveDocument(parts.service, trainingDocument(3, 'copies'));
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}` });
  await node(page, 'train').click();
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Control+c');
  await page.keyboard.press('Control+v');
  await node(page, 'evaluate_2').waitFor();
  await becomes(() => page.locator('.react-flow__edge').count(), 10);
  await page.keyboard.press('Delete');
  await node(page, 'evaluate_2').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+z');
  await node(page, 'evaluate_2').waitFor();
  await page.keyboard.press('Control+z');
  await node(page, 'evaluate_2').waitFor({ state: 'detached' });
  await page.getByText('saved', { exact: true }).waitFor();
  await page.context().close();
});

test('whoever must sign in again in the middle of an edit loses nothing', async () => {
  const saved = await saveDocument(parts.service, trainingDocument(3, 'revoked'));
  const made = await parts.service.ask('POST', '/api/tokens', { name: 'guest', role: 'user' });
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}`, token: made.token });
  await node(page, 'model').click();
  await set(page, 'Epochs', '44');
  await page.getByText('not saved', { exact: true }).waitFor();
  await parts.service.ask('DELETE', `/api/tokens/${made.id}`);
  await page.getByText('Your session has ended').waitFor();
  await signIn(page, parts.service.token);
  await node(page, 'model').click();
  await becomes(() => page.locator('.inspector').getByLabel('Epochs', { exact: true }).inputValue(), '44');
  await page.context().close();
});

for (const theme of ['light', 'dark'])
  test(`axe finds no serious fault in the ${theme} theme`, async () => {
    const saved = await saveDocument(parts.service, trainingDocument(3, 'axe'));
    const page = await openPage(parts.browser, parts.service, { theme, token: null });
    await page.getByLabel('Token').waitFor();
    await accessible(page, 'signing in');
    await signIn(page, parts.service.token);
    await page.getByText('An empty canvas').waitFor();
    await accessible(page, 'the empty canvas');
    await page.goto(`${parts.service.url}/documents/${saved.id}`);
    await page.getByRole('button', { name: 'Run all' }).click();
    await node(page, 'evaluate').locator('.pill.ok').waitFor();
    await node(page, 'train').click();
    await set(page, 'Target column', '');
    await page.locator('.inspector').getByText('missing, and there is no default').waitFor();
    await accessible(page, 'settings with an error');
    for (const card of ['load', 'evaluate']) {
      await node(page, card).click();
      await page.getByRole('tab', { name: 'Preview' }).click();
      await page.locator('.inspector table').first().waitFor();
      await accessible(page, `preview of ${card}`);
    }
    await page.getByRole('tab', { name: 'Documents' }).click();
    await page.locator('.shelf-link').first().waitFor();
    await accessible(page, 'documents');
    await page.context().close();
  });
