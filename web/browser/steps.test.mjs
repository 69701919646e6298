// Load, split, define, train and evaluate from an empty canvas to metrics and a scatter plot.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, openPage } from './browser.mjs';
import { contentOf, dragCard, node, pill, set, wire } from './canvas.mjs';
import { withService } from './setup.mjs';

const parts = withService();

async function seeResult(page) {
  for (const id of ['load', 'split', 'model', 'train', 'evaluate']) await pill(page, id, 'done|reused').waitFor();
  await page.getByRole('button', { name: 'Run all' }).waitFor();
}

async function seeEvaluation(page) {
  await page.getByRole('rowheader', { name: 'RMSE', exact: true }).waitFor();
  const plot = page.getByRole('img', { name: 'Predicted against actual' });
  await plot.locator('canvas').waitFor();
  // Points of the colour of predictions, not an empty frame.
  const drawn = () => plot.locator('canvas').evaluate((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let blue = 0;
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 128 && data[at + 2] > data[at] + 60) blue++;
    return blue;
  });
  await becomes(async () => (await drawn()) > 100, true);
}

test('by mouse', async () => {
  const page = await openPage(parts.browser, parts.service);
  await page.getByText('An empty canvas').waitFor();
  await dragCard(page, 'Load data', 0.15, 0.25);
  await set(page, 'Source', 'sample');
  await set(page, 'Sample name', 'boston_housing');
  await set(page, 'Sample rows', '400');
  await dragCard(page, 'Split data', 0.5, 0.25);
  await dragCard(page, 'Define a neural network', 0.15, 0.65);
  await set(page, 'Epochs', '3');
  await set(page, 'Hidden layers', '8, 4');
  await dragCard(page, 'Train', 0.5, 0.65);
  await dragCard(page, 'Evaluate', 0.82, 0.4);
  await wire(page, 'load', 'dataset', 'split', 'dataset');
  await wire(page, 'split', 'train_dataset', 'train', 'train_dataset');
  await wire(page, 'model', 'model_spec', 'train', 'model_spec');
  await wire(page, 'train', 'trained_model', 'evaluate', 'trained_model');
  await wire(page, 'split', 'test_dataset', 'evaluate', 'test_dataset');
  await becomes(() => page.locator('.react-flow__edge').count(), 5);

  // What does not fit is not connected, and says why.
  await wire(page, 'model', 'model_spec', 'split', 'dataset');
  await page.getByText('dataset takes a table; model_spec gives a model spec.').waitFor();
  await becomes(() => page.locator('.react-flow__edge').count(), 5);

  // A required setting that is missing is told under its field, in the service's words.
  await page.getByRole('button', { name: 'Run all' }).click();
  await page.getByText('are to be put right first').or(page.getByText('is to be put right first')).waitFor();
  await node(page, 'train').click();
  await page.locator('.inspector').getByText('missing, and there is no default').waitFor();
  await set(page, 'Target column', 'MEDV');
  await page.locator('.inspector').getByText('missing, and there is no default').waitFor({ state: 'hidden' });

  await page.getByRole('button', { name: 'Run all' }).click();
  await seeResult(page);
  await node(page, 'load').click();
  await page.getByRole('tab', { name: 'Preview' }).click();
  await page.getByText('100 of 400 rows × 14').waitFor();
  await node(page, 'evaluate').click();
  await page.getByRole('tab', { name: 'Preview' }).click();
  await seeEvaluation(page);
  assert.equal(await page.locator('.picture').first().evaluate((image) => image.decode().then(() => image.naturalWidth > 100)), true);

  // Once more: nothing has changed, so everything comes out of the cache and says so.
  await page.getByRole('button', { name: 'Run all' }).click();
  await pill(page, 'train', 'reused').waitFor();

  // Undo takes the document back step by step, and redo forth.
  const id = new URL(page.url()).pathname.split('/').at(-1);
  assert.match(await contentOf(parts.service, id), /target_column: MEDV/);
  for (let step = 0; step < 3; step++) await page.getByRole('button', { name: 'Undo' }).click();
  await becomes(() => page.locator('.react-flow__edge').count(), 3);
  for (let step = 0; step < 3; step++) await page.getByRole('button', { name: 'Redo' }).click();
  await page.getByText('saved', { exact: true }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('by keyboard alone', async () => {
  const page = await openPage(parts.browser, parts.service);
  await page.getByText('An empty canvas').waitFor();
  const { keyboard } = page;
  // The focus goes back to the card a moment after Escape, and would take what is typed before that.
  const leave = async () => {
    await keyboard.press('Escape');
    await page.waitForFunction(() => document.activeElement?.hasAttribute('data-id'));
  };
  const enter = async (key, part) => {
    await page.locator(`[data-part="${part}"] :is(input, select, textarea, button)`).first().waitFor();
    await keyboard.press(key);
    await page.waitForFunction((inside) => document.activeElement?.closest(`[data-part="${inside}"]`), part);
  };
  const add = async (words, id) => {
    await keyboard.press('/');
    await keyboard.type(words);
    await keyboard.press('Enter');
    await node(page, id).waitFor();
    await page.waitForFunction((card) => document.activeElement?.getAttribute('data-id') === card, id);
  };
  // From the card to its settings, along to one of them by Tab, and back.
  const type = async (label, words) => {
    await enter('Enter', 'settings');
    for (let step = 0; step < 120; step++) {
      const [name, part] = await page.evaluate(() => [document.activeElement?.labels?.[0]?.textContent ?? '', document.activeElement?.textContent ?? '']);
      if (name.startsWith(label)) break;
      if (/more settings/.test(part)) await keyboard.press('Enter');
      await keyboard.press('Tab');
    }
    await keyboard.type(words);
    await leave();
  };
  const connect = async (place, letters) => {
    await enter('n', 'needs');
    for (let step = 0; step < place; step++) await keyboard.press('Tab');
    await keyboard.type(letters);
    await leave();
  };
  await add('load', 'load');
  await type('Source', 'sample');
  await type('Sample name', 'boston_housing');
  await type('Sample rows', '400');
  await add('split data', 'split');
  await connect(0, 'load');
  await add('neural', 'model');
  await type('Epochs', '3');
  await add('train', 'train');
  await type('Target column', 'MEDV');
  await connect(0, 'split.train');
  await connect(1, 'model');
  await add('evaluate', 'evaluate');
  await connect(0, 'train');
  await connect(1, 'split.test');
  await becomes(() => page.locator('.react-flow__edge').count(), 5);
  await keyboard.press('ArrowLeft');
  const before = await page.evaluate(() => document.activeElement?.getAttribute('data-id'));
  assert.notEqual(before, 'evaluate');
  await keyboard.press('Control+Enter');
  await seeResult(page);
  // Along to the card that evaluates, and by Tab to what it gives.
  for (let step = 0; step < 8 && (await page.evaluate(() => document.activeElement?.getAttribute('data-id'))) !== 'evaluate'; step++) await keyboard.press('ArrowRight');
  await page.getByRole('tab', { name: 'Preview' }).focus();
  await keyboard.press('Enter');
  await seeEvaluation(page);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('with an example, three clicks after the page is open', async () => {
  const page = await openPage(parts.browser, parts.service, { token: null });
  await page.getByLabel('Token').waitFor();
  await page.keyboard.type(parts.service.token); // the field has the focus
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: /^Boston, ridge/ }).click();
  await page.getByRole('button', { name: 'Run all' }).click();
  await pill(page, 'train', 'done|reused').waitFor();
  await becomes(async () => (await parts.service.ask('GET', '/api/models')).models.length > 0, true);
  await page.context().close();
});
