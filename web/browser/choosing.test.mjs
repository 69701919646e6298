// Names are chosen rather than typed, and what goes wrong with them stands where it can be put right.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, openPage } from './browser.mjs';
import { contentOf, node, pill, saveDocument, set, trainingDocument } from './canvas.mjs';
import { withService } from './setup.mjs';

const parts = withService();
const field = (page, label) => page.locator('.inspector').getByLabel(label, { exact: true });

async function recordTable(name, rows) {
  const answer = await fetch(`${parts.service.url}/api/datasets/upload?name=${name}.csv&id=${name}`, { method: 'POST', headers: { Authorization: `Bearer ${parts.service.token}`, 'Content-Type': 'text/csv' }, body: rows });
  assert.equal(answer.status, 201, await answer.text());
}

// Every fifth row has no weight.
const wells = `depth,pressure,weight\n${Array.from({ length: 100 }, (_, row) => `${row},${row * 2 + 1},${row % 5 === 3 ? '' : row + 0.5}`).join('\n')}\n`;

test('a dataset and a column are chosen from what is there, by keyboard and by mouse', async () => {
  await recordTable('wells', wells);
  const content = trainingDocument(2, 'choosing').replace(/config: \{ source: sample.*\}/, 'config: { source: datasets }').replace('target_column: MEDV, ', '');
  const saved = await saveDocument(parts.service, content, 'choosing');
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}` });
  await node(page, 'load').click();
  await field(page, 'Dataset ids').focus();
  await page.keyboard.type('wel');
  await page.getByRole('option', { name: /^wells/ }).waitFor();
  await accessible(page, 'names to choose from');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await becomes(() => field(page, 'Dataset ids').inputValue(), 'wells, ');
  await page.keyboard.press('Escape');

  // What is known of the dataset reaches the card that trains, though nothing has run.
  await node(page, 'train').click();
  await page.waitForTimeout(500);
  await set(page, 'Target column', 'wieght');
  await page.locator('.inspector .field-error', { hasText: 'did you mean weight?' }).waitFor();
  await set(page, 'Target column', '');
  await field(page, 'Target column').click();
  await page.getByRole('option', { name: 'weight' }).click();
  await becomes(() => field(page, 'Target column').inputValue(), 'weight');
  await field(page, 'Feature columns').click();
  await page.getByRole('option', { name: 'depth' }).click();
  await page.getByRole('option', { name: 'pressure' }).click();
  await page.locator('.inspector .field-error').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+s');
  await page.getByText('saved', { exact: true }).waitFor();
  const written = await contentOf(parts.service, saved.id);
  assert.match(written, /wells/);
  assert.match(written, /target_column: weight/);
  assert.match(written, /depth[\s\S]*pressure/);

  // The run finds what nobody knew: the error stands under the setting, and what was made before it stays to be seen.
  await page.getByRole('button', { name: 'Run all' }).click();
  await pill(page, 'train', 'failed').waitFor();
  await pill(page, 'evaluate', 'not run').waitFor();
  const error = page.locator('.inspector .field', { has: page.getByLabel('Target column', { exact: true }) }).locator('.field-error');
  await error.waitFor();
  await becomes(() => error.textContent(), /missing in \d+ of \d+ rows.*Filter rows/);
  await node(page, 'split').click();
  await page.getByRole('tab', { name: 'Preview' }).click();
  await page.getByText('80 of 80 rows × 3').waitFor();

  // With the setting changed, nothing tells of the old run as if it were of this document.
  await node(page, 'train').click();
  await page.getByRole('tab', { name: 'Settings' }).click();
  await set(page, 'Target column', 'pressure');
  await error.waitFor({ state: 'detached' });
  await page.locator('.inspector [role=alert]').waitFor({ state: 'detached' });
  await becomes(() => page.locator('.now .field-error').count(), 0);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('what people need comes first, and a tablet says what is not saved', async () => {
  const saved = await saveDocument(parts.service, trainingDocument(2, 'first').replace('split.test_dataset', 'split.train_dataset'), 'first');
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}`, size: { width: 820, height: 1180 } });
  await node(page, 'model').click();
  const labels = () => page.locator('[data-part=settings] label').allTextContents();
  await becomes(async () => (await labels()).slice(0, 4), ['Model type', 'Epochs', 'Learning rate', 'Batch size']);
  assert.ok(!(await labels()).includes('Huber delta'));
  await page.getByRole('button', { name: /more settings/ }).click();
  await becomes(async () => (await labels()).indexOf('Huber delta') > (await labels()).indexOf('Weight decay'), true);
  await set(page, 'Epochs', '3');
  await becomes(() => page.getByText('not saved', { exact: true }).isVisible(), true);

  // A model that is measured by what it was trained on says so on the card that measures.
  await node(page, 'evaluate').getByLabel(/^Warning: split.train_dataset has rows/).waitFor();
  await page.getByRole('button', { name: 'Map' }).click();
  await becomes(() => page.locator('.react-flow__minimap').count(), 0);

  // Twice the same: the second time nothing is trained, and that is said where the curve would be.
  await page.getByRole('button', { name: 'Run all' }).click();
  await pill(page, 'evaluate', 'done').waitFor();
  await node(page, 'evaluate').locator('.card-line', { hasText: /^R²/ }).waitFor();
  await page.getByRole('button', { name: 'Run all' }).click();
  await pill(page, 'train', 'reused').waitFor();
  await page.getByText('the model of train was trained in an earlier one').waitFor();
  await node(page, 'train').click();
  await page.getByRole('tab', { name: 'Preview' }).click();
  await page.getByRole('heading', { name: 'Metrics on the 320 training rows' }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
