// What the pages answer where a figure alone would mislead: other rows, values that nobody trained on, runs without a metric in common.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { becomes, closeSound, launchBrowser, openPage, rowsOf, side } from './browser.mjs';
import { Service } from './service.mjs';
import { doneJob, failing, longTraining, search, startJob, startSweep, training, untilJob } from './small_jobs.mjs';

let service;
let browser;
let folder;
const made = {};
const classes = () => training({ name: 'blobs-small' }).replace('sample_name: friedman', 'sample_name: blobs').replace('target_column: y', 'target_column: label, task: multiclass');
const onTrainingRows = () => training({ name: 'friedman-known', rate: '0.01' }).replace('test_dataset: split.test_dataset', 'test_dataset: split.train_dataset');
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stoker-answers-'));
  service = await Service.start();
  browser = await launchBrowser();
  made.tested = await doneJob(service, training({ name: 'friedman-tested' }));
  made.known = await doneJob(service, onTrainingRows());
  made.failed = await untilJob(service, (await startJob(service, failing())).id, ['failed']);
});
after(async () => {
  await browser?.close();
  await service?.end();
  rmSync(folder, { recursive: true, force: true });
});

test('runs that were measured on different rows are told so, nobody is best, and they stay ticked', async () => {
  const page = await openPage(browser, service, { path: '/runs' });
  for (const name of ['friedman-tested', 'friedman-known']) await page.getByLabel(`Choose ${name} to compare`).check();
  await page.getByRole('button', { name: 'Compare' }).click();
  const notice = page.getByRole('status').filter({ hasText: 'measured on different rows' });
  await notice.getByText('800 rows that the model was trained on: friedman-known').waitFor();
  await notice.getByText('200 rows: friedman-tested').waitFor();
  const line = page.getByRole('row', { name: /^R²/ });
  await line.locator('td').nth(1).getByText('training rows').waitFor();
  await becomes(() => line.getByText('best').count(), 0);
  await page.getByRole('link', { name: 'Back to the runs' }).click();
  await page.getByText('2 chosen').waitFor();
  await becomes(() => page.getByLabel('Choose friedman-known to compare').isChecked(), true);
  await closeSound(page);
});

test('a value far from those of training is told, and a row of the data has its true value beside the answer', async () => {
  const { models } = await service.ask('GET', '/api/models');
  const model = models.find((each) => each.job === made.tested.id);
  await service.ask('PUT', '/api/models/deployments/tested', { model: model.id });
  const page = await openPage(browser, service, { path: `/models/${model.id}`, size: { width: 820, height: 1180 } });
  await page.getByRole('tab', { name: 'Try it' }).click();
  await side(page).getByLabel('With an interval for 90 % of the values').waitFor();
  await page.getByRole('button', { name: 'Fill in a row of its data' }).click();
  await page.waitForFunction(() => document.querySelector('.try-fields input')?.value.length > 3);
  await page.getByRole('button', { name: 'Predict' }).click();
  const actual = Number((await page.getByTestId('actual').locator('b').textContent()).replaceAll(',', ''));
  const { first_rows, columns } = await service.ask('GET', `/api/runs/${made.tested.run}/files/previews/split.test_dataset.json`);
  const target = columns.findIndex((column) => column.name === 'y');
  assert.ok(first_rows.some((row) => Math.abs(Number(row[target]) - actual) < 1e-3 * Math.abs(actual)), `${actual} is none of the answers`);
  await side(page).getByLabel('x0', { exact: true }).fill('5000');
  await becomes(() => page.getByTestId('actual').count(), 0); // of another row nothing is known
  await page.getByRole('button', { name: 'Predict' }).click();
  await side(page).getByText(/This value of x0 lies far from those of training, which went from 0\S* to \S+:/).waitFor();
  for (const { name } of model.columns) await side(page).getByLabel(name, { exact: true }).fill('');
  await page.getByRole('button', { name: 'Predict' }).click();
  await side(page).getByText(`${model.columns.length} notes`).waitFor();
  await closeSound(page);
});

test('a model without rows held back is offered no interval', async () => {
  const job = await doneJob(service, training({ name: 'friedman-all' }).replace('validation_ratio: 0.15', 'validation_ratio: 0'));
  const { models } = await service.ask('GET', '/api/models');
  const model = models.find((each) => each.job === job.id);
  await service.ask('PUT', '/api/models/deployments/all', { model: model.id });
  const page = await openPage(browser, service, { path: `/models/${model.id}` });
  await page.getByRole('tab', { name: 'Try it' }).click();
  await page.getByRole('button', { name: 'Predict' }).waitFor();
  await becomes(() => side(page).getByLabel('With an interval').count(), 0);
  await closeSound(page);
});

test('runs show failed jobs with their error, and each run its main metric', async () => {
  made.classes = await doneJob(service, classes());
  const page = await openPage(browser, service, { path: '/runs' });
  const failed = rowsOf(page, 'Runs').filter({ hasText: 'friedman-wrong' });
  await failed.getByText("'z'").waitFor();
  await failed.click();
  await side(page).getByRole('alert').filter({ hasText: "'z'" }).waitFor();
  await becomes(() => side(page).getByRole('link', { name: 'Open its job' }).getAttribute('href'), `/jobs/${made.failed.id}`);
  const figures = async (name, title) => becomes(() => rowsOf(page, 'Runs').filter({ hasText: name }).textContent(), new RegExp(title));
  await figures('blobs-small', 'Accuracy ');
  await figures('friedman-tested', 'R² ');
  await closeSound(page);
});

test('a run that was stopped says who did it, and goes on from the page of runs', async () => {
  const page = await openPage(browser, service, { path: '/jobs' });
  const asked = [];
  page.on('request', (request) => /\/api\/training\/jobs\/[0-9a-f-]{36}$/.test(request.url()) && asked.push(request.url()));
  const job = await startJob(service, longTraining());
  await rowsOf(page, 'Jobs').filter({ hasText: 'friedman-long' }).locator('.row-progress').waitFor();
  assert.deepEqual(asked, []); // the list has the progress of all of them
  await rowsOf(page, 'Jobs').filter({ hasText: 'friedman-long' }).click();
  await side(page).getByRole('button', { name: 'Stop' }).click();
  await side(page).getByText('You stopped it.').waitFor();
  await becomes(() => side(page).getByRole('alert').count(), 0);
  await side(page).getByRole('link', { name: 'Open its run' }).click();
  await side(page).getByText('can go on from its last checkpoint').waitFor();
  await becomes(() => side(page).getByText('stoker run').count(), 0);
  await side(page).getByRole('button', { name: 'Resume' }).click();
  await side(page).locator('h1 + .pill', { hasText: 'running' }).waitFor();
  await service.ask('POST', `/api/training/jobs/${job.id}/cancel`);
  await untilJob(service, job.id, ['cancelled']);
  await closeSound(page);
});

test('trials of a search are listed and drawn while it runs', async () => {
  const slow = search('friedman-slow').replace('sample_rows: 1000', 'sample_rows: 40000').replace('epochs: 6', 'epochs: 400').replace('models: 12', 'models: 40');
  const { id } = await startSweep(service, slow);
  const page = await openPage(browser, service, { path: `/sweeps/${id}` });
  await rowsOf(page, 'Trials').nth(1).waitFor();
  await page.locator('.now .u-over').waitFor();
  assert.equal((await service.ask('GET', `/api/training/jobs/${id}`)).state, 'running');
  await service.ask('POST', `/api/training/jobs/${id}/cancel`);
  await untilJob(service, id, ['cancelled']);
  await closeSound(page);
});

test('an uploaded file keeps its name, the newest comes first, and is used in the canvas', async () => {
  await service.ask('POST', '/api/datasets/generate', { id: 'aaa', sample: 'friedman', rows: 20 });
  const file = join(folder, 'My wells 2026.csv');
  writeFileSync(file, 'depth,town\n10,Ulm\n20,Bonn\n30,Kiel\n');
  const page = await openPage(browser, service, { path: '/data' });
  await page.getByRole('button', { name: 'Upload…' }).click();
  await page.getByLabel('File').setInputFiles(file);
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
  await page.getByText('My-wells-2026 is on record.').waitFor();
  await rowsOf(page, 'Datasets').first().getByText('My wells 2026.csv').waitFor();
  await page.getByRole('button', { name: 'Make a sample…' }).click();
  await becomes(() => page.getByText('My-wells-2026 is on record.').count(), 0);
  await rowsOf(page, 'Datasets').first().click();
  await side(page).getByRole('button', { name: 'Use it in the canvas' }).click();
  await page.waitForURL(/\/documents\//);
  const saved = await service.ask('GET', `/api/documents/${page.url().split('/').at(-1)}`);
  assert.match(saved.content, /dataset_ids: \["My-wells-2026"\]/);
  await closeSound(page);
});
