// The pages beside the canvas, with real jobs of a real service: followed, stopped, compared, tried, uploaded.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { accessible, becomes, closeSound, launchBrowser, openPage, rowsOf, side } from './browser.mjs';
import { Service } from './service.mjs';
import { doneJob, failing, longTraining, search, startJob, startSweep, training, untilJob } from './small_jobs.mjs';

let service;
let browser;
let folder;
const made = {};
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stoker-pages-'));
  service = await Service.start();
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  await service?.end();
  rmSync(folder, { recursive: true, force: true });
});

test('pages without anything say what to do', async () => {
  const page = await openPage(browser, service, { path: '/jobs' });
  await page.getByText('There are no jobs yet.').waitFor();
  await page.getByRole('link', { name: 'Runs' }).click();
  await page.getByText('There are no runs yet.').waitFor();
  await page.getByRole('link', { name: 'Models' }).click();
  await page.getByText('There are no models yet.').waitFor();
  await closeSound(page);
});

test('a job is followed to its end, and its run and model are there', async () => {
  const page = await openPage(browser, service, { path: '/jobs' });
  const job = await startJob(service, training());
  await rowsOf(page, 'Jobs').first().click();
  await becomes(() => new URL(page.url()).pathname, `/jobs/${job.id}`);
  await side(page).locator('h1 + .pill', { hasText: 'done' }).waitFor();
  await page.locator('.now .u-over').waitFor(); // its curve
  const { state, summary } = await service.ask('GET', `/api/training/jobs/${job.id}`);
  assert.equal(state, 'completed');
  await page.getByRole('tab', { name: 'Metrics' }).click();
  const r2 = side(page).locator('tr', { hasText: 'R²' }).locator('td');
  await becomes(async () => Number(await r2.getAttribute('title')), summary.results[0].metrics.r2);
  await page.getByRole('tab', { name: 'Log' }).click();
  await side(page).locator('pre.log', { hasText: 'evaluate' }).waitFor();
  await side(page).getByRole('link', { name: 'Open its run' }).click();
  await side(page).getByText(job.run).waitFor();
  made.first = await untilJob(service, job.id, ['completed']);
  await closeSound(page);
});

test('a job that waits says what for, one that runs is paused, resumed and stopped, and one is deleted with its files', async () => {
  const running = await startJob(service, longTraining());
  const waiting = await startJob(service, training({ name: 'friedman-next' }));
  const page = await openPage(browser, service, { path: `/jobs/${waiting.id}` });
  await side(page).getByText('Waits for a free slot on the processor').waitFor();
  await rowsOf(page, 'Jobs').filter({ hasText: 'friedman-long' }).click();
  await side(page).getByText('Training loss').waitFor();
  await side(page).getByRole('button', { name: 'Pause' }).click();
  await side(page).locator('h1 + .pill', { hasText: 'paused' }).waitFor();
  await untilJob(service, waiting.id, ['completed']);
  await side(page).getByRole('button', { name: 'Resume' }).click();
  await side(page).locator('h1 + .pill', { hasText: 'running' }).waitFor();
  await side(page).getByRole('button', { name: 'Stop' }).click();
  await side(page).locator('h1 + .pill', { hasText: 'stopped' }).waitFor();
  await rowsOf(page, 'Jobs').filter({ hasText: 'friedman-long' }).locator('.pill', { hasText: 'stopped' }).waitFor();
  await untilJob(service, running.id, ['cancelled']);
  await side(page).getByRole('button', { name: 'Delete…' }).click();
  await side(page).getByRole('button', { name: 'Delete it' }).click();
  await page.getByText(/friedman-long is gone; that freed \d/).waitFor();
  await assert.rejects(service.ask('GET', `/api/training/jobs/${running.id}`), /404/);
  await closeSound(page);
});

test('a job that fails says why, and a filter finds it', async () => {
  const { id } = await startJob(service, failing());
  await untilJob(service, id, ['failed']);
  const page = await openPage(browser, service, { path: '/jobs' });
  await page.getByLabel('State').selectOption('failed');
  await rowsOf(page, 'Jobs').filter({ hasText: 'friedman-small' }).waitFor({ state: 'detached' });
  await page.keyboard.press('/');
  await page.keyboard.type('wrong');
  await rowsOf(page, 'Jobs').first().click();
  await side(page).getByRole('alert').filter({ hasText: "'z'" }).waitFor();
  await page.getByLabel('Find by name').fill('nothing has this name');
  await page.getByText('No job has this state and name.').waitFor();
  await closeSound(page);
});

test('runs are sorted, chosen by the keyboard and compared', async () => {
  made.second = await doneJob(service, training({ name: 'friedman-fast', rate: '0.01' }));
  const page = await openPage(browser, service, { path: '/runs' });
  await rowsOf(page, 'Runs').filter({ hasText: 'friedman-fast' }).waitFor();
  await page.getByRole('button', { name: 'R²' }).click(); // the best on top
  const metrics = (job) => job.summary.results[0].metrics;
  const best = [made.first, made.second].sort((a, b) => metrics(b).r2 - metrics(a).r2)[0];
  await rowsOf(page, 'Runs').first().filter({ hasText: best.job_name }).waitFor();
  await page.getByLabel('Find by name').fill('friedman');
  const list = page.getByRole('grid', { name: 'Runs' }).locator('.list-body');
  for (const name of ['friedman-small', 'friedman-fast']) {
    await rowsOf(page, 'Runs').filter({ hasText: name }).first().click();
    await list.focus();
    await page.keyboard.press('Space');
  }
  await page.getByText('2 chosen').waitFor();
  await page.keyboard.press('c');
  await page.getByText('Comparison of 2 runs').waitFor();
  const line = page.getByRole('row', { name: /^RMSE/ });
  const figures = async () => (await line.locator('td span[title]').evaluateAll((cells) => cells.map((cell) => Number(cell.title)))).filter((value) => !Number.isNaN(value));
  await becomes(figures, [metrics(made.first).rmse, metrics(made.second).rmse]);
  const better = metrics(made.first).rmse < metrics(made.second).rmse ? 0 : 1;
  await line.locator('td').nth(better).getByText('best').waitFor();
  const setting = page.getByRole('row', { name: /model\.config\.learning_rate/ });
  await becomes(() => setting.locator('td').allTextContents(), ['0.003', '0.01']);
  await page.locator('.compare .u-over').waitFor(); // curves over each other
  await becomes(() => page.locator('.plot-key').count(), 2);
  await closeSound(page);
});

test('a run shows its pictures, files and document, and a copy of it opens in the canvas', async () => {
  const page = await openPage(browser, service, { path: `/runs/${made.first.run}` });
  await page.getByRole('tab', { name: 'Files' }).click();
  await side(page).getByRole('link', { name: 'model/model.safetensors' }).waitFor();
  const report = await side(page).getByRole('link', { name: 'Open its report' }).getAttribute('href');
  assert.equal(report, `/api/runs/${made.first.run}/files/report.html`);
  await page.getByRole('tab', { name: 'Pictures' }).click();
  await side(page).locator('figure img, p.secondary').last().waitFor();
  await page.getByRole('tab', { name: 'Document' }).click();
  await side(page).getByRole('button', { name: 'Open a copy in the canvas' }).click();
  await page.waitForURL(/\/documents\//);
  const saved = await service.ask('GET', `/api/documents/${page.url().split('/').at(-1)}`);
  assert.match(saved.content, /target_column: "?y/);
  await closeSound(page);
});

test('a sweep shows its trials and any setting against any figure', async () => {
  const started = await startSweep(service, search());
  made.sweep = await untilJob(service, started.id, ['completed']);
  const { trials, winner } = await service.ask('GET', `/api/sweeps/${started.id}`);
  const page = await openPage(browser, service, { path: `/sweeps/${started.id}` });
  await side(page).getByRole('heading', { name: `Trial ${winner.trial}`, exact: true }).waitFor();
  await becomes(() => rowsOf(page, 'Trials').count(), trials.length);
  await page.locator('.now .u-over').waitFor();
  await page.getByLabel('Across', { exact: true }).selectOption('model.learning_rate');
  await page.getByLabel('Upwards', { exact: true }).selectOption('seconds');
  await page.getByRole('img', { name: 'Seconds by model.learning_rate' }).waitFor();
  await page.getByRole('button', { name: 'Trial', exact: true }).click();
  await rowsOf(page, 'Trials').first().click();
  await side(page).getByRole('heading', { name: 'Trial 1', exact: true }).waitFor();
  const rate = trials.find((trial) => trial.trial === 1).settings['model.learning_rate'];
  await side(page).getByText(rate, { exact: true }).waitFor();
  await closeSound(page);
});

test('a model is deployed and tried, and answers what the service answers', async () => {
  const { models } = await service.ask('GET', '/api/models');
  const model = models.find((each) => each.job === made.first.id);
  const page = await openPage(browser, service, { path: `/models/${model.id}` });
  await page.getByRole('tab', { name: 'Try it' }).click();
  await page.getByRole('button', { name: /^Deploy as friedman-small/ }).click();
  const row = Object.fromEntries(model.columns.map((column, place) => [column.name, place / 10]));
  for (const [name, value] of Object.entries(row)) if (name !== 'x9') await side(page).getByLabel(name, { exact: true }).fill(String(value));
  await side(page).getByLabel('x0', { exact: true }).fill('many');
  await page.getByRole('button', { name: 'Predict' }).click();
  await side(page).getByText('this is no number').waitFor();
  await side(page).getByLabel('x0', { exact: true }).fill(String(row.x0));
  await page.getByRole('button', { name: 'Predict' }).click();
  await side(page).getByText('A missing value of x9 was filled in as in training.').waitFor();
  const answer = await service.ask('POST', '/api/models/friedman-small/predict', { rows: [{ ...row, x9: null }] });
  const shown = Number((await page.getByTestId('prediction').textContent()).replaceAll(',', ''));
  assert.ok(Math.abs(shown - answer.predictions[0]) < 1e-3 * Math.abs(answer.predictions[0]), `${shown} is not ${answer.predictions[0]}`);
  await page.getByRole('button', { name: 'Fill in a row of its data' }).click();
  await page.waitForFunction(() => document.querySelector('.try-fields input')?.value.length > 3);
  await page.getByRole('tab', { name: 'Deployments' }).click();
  await page.getByRole('button', { name: 'Withdraw friedman-small' }).click();
  await page.getByText('It is not deployed yet.').waitFor();
  await closeSound(page);
});

test('a model that is downloaded is uploaded again', async () => {
  const { models } = await service.ask('GET', '/api/models');
  const page = await openPage(browser, service, { path: `/models/${models.find((each) => each.job === made.second.id).id}` });
  const [download] = await Promise.all([page.waitForEvent('download'), side(page).getByRole('link', { name: 'Download' }).click()]);
  const file = join(folder, 'copy.tar');
  await download.saveAs(file);
  await page.locator('input[type=file]').setInputFiles(file);
  await page.getByText('copy is on record.').waitFor();
  await side(page).getByRole('heading', { name: 'copy' }).waitFor();
  writeFileSync(join(folder, 'wrong.tar'), 'this is no archive');
  await page.locator('input[type=file]').setInputFiles(join(folder, 'wrong.tar'));
  await page.locator('.middle .notice[role=alert]').waitFor();
  await closeSound(page);
});

// A table that a real training wrote: an epoch a row, one column of which is always empty.
test('a table is uploaded, previewed, checked, repaired and removed', async () => {
  const answer = await fetch(`${service.url}/api/runs/${made.first.run}/files/metrics.csv`, { headers: { Authorization: `Bearer ${service.token}` } });
  const csv = await answer.text();
  const lines = csv.trim().split('\n').slice(1);
  const losses = lines.map((line) => Number(line.split(',')[2]));
  const file = join(folder, 'epochs of a run.csv');
  writeFileSync(file, csv);
  const page = await openPage(browser, service, { path: '/data' });
  await page.getByRole('button', { name: 'Upload…' }).click();
  await page.getByLabel('File').setInputFiles(file);
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
  await page.getByText('epochs-of-a-run is on record.').waitFor();
  await page.getByRole('region', { name: 'First rows' }).locator('tbody tr').nth(lines.length - 1).waitFor();
  const loss = side(page).locator('.column-facts', { hasText: 'train_loss' });
  await loss.getByText('none missing').waitFor();
  await becomes(() => loss.locator('rect').count(), 20);
  const bars = await loss.locator('rect').evaluateAll((all) => all.filter((each) => Number(each.getAttribute('height')) > 0).length);
  const lowest = Math.min(...losses);
  const step = (Math.max(...losses) - lowest) / 20;
  assert.equal(bars, new Set(losses.map((each) => Math.min(19, Math.floor((each - lowest) / step)))).size);
  await page.getByRole('tab', { name: 'Check' }).click();
  await page.getByLabel('Allowed ranges').fill('epoch 3');
  await page.getByRole('button', { name: 'Validate' }).click();
  await page.getByText('"epoch 3" is not a column and two bounds').waitFor();
  await page.getByLabel('Allowed ranges').fill('epoch 3 -');
  await page.getByRole('button', { name: 'Validate' }).click();
  await page.getByText(`2 of ${lines.length} rows have faults.`).waitFor();
  await page.getByRole('button', { name: 'Make a copy without them' }).click();
  await page.getByText(`epochs-of-a-run-repaired is on record, with ${lines.length - 2} rows.`).waitFor();
  await side(page).getByRole('heading', { name: 'epochs-of-a-run-repaired' }).waitFor();
  await page.getByRole('button', { name: 'Remove…' }).click();
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByText(/epochs-of-a-run-repaired is gone; that freed \d/).waitFor();
  await page.getByRole('button', { name: 'Make a sample…' }).click();
  await page.getByLabel('Sample').selectOption('friedman');
  await page.getByLabel('Id', { exact: true }).fill('few');
  await page.getByLabel('Rows', { exact: true }).fill('50');
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.getByText('few is on record.').waitFor();
  assert.equal((await service.ask('GET', '/api/datasets/few')).rows, 50);
  await closeSound(page);
});

test('a file with a row that cannot be read is refused with its line, taken all the same and repaired', async () => {
  const file = join(folder, 'wells.csv');
  writeFileSync(file, 'depth,town\n10,Ulm\n20,Bonn,x,y\n30,Kiel\n');
  const page = await openPage(browser, service, { path: '/data' });
  await page.getByRole('button', { name: 'Upload…' }).click();
  await page.getByLabel('File').setInputFiles(file);
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
  await side(page).getByRole('alert').filter({ hasText: 'wells.csv:3' }).waitFor();
  await page.getByRole('button', { name: 'Put it on record all the same' }).click();
  await page.getByText('wells is on record.').waitFor();
  await side(page).getByText('Check finds rows that cannot be read').waitFor();
  await page.getByRole('tab', { name: 'Check' }).click();
  await page.getByRole('button', { name: 'Validate' }).click();
  await page.getByRole('button', { name: 'Make a copy without them' }).click();
  await page.getByText('wells-repaired is on record, with 2 rows.').waitFor();
  assert.equal((await service.ask('GET', '/api/datasets/wells-repaired')).cleaned_of, 'wells');
  await closeSound(page);
});

test('the devices of the machine show what they do', async () => {
  const { host } = await service.ask('GET', '/api/devices');
  const page = await openPage(browser, service, { path: '/jobs' });
  const gauges = page.getByRole('region', { name: 'Devices' });
  await gauges.getByRole('meter', { name: 'Memory' }).waitFor();
  await gauges.getByText(host.cores === 1 ? '1 core' : `${host.cores} cores`).waitFor();
  await closeSound(page);
});

test('a token that may only look is offered nothing else', async () => {
  const { token } = await service.ask('POST', '/api/tokens', { name: 'guest', role: 'viewer' });
  const page = await openPage(browser, service, { path: `/jobs/${made.first.id}`, token });
  await side(page).getByText('Your token may look, but not change anything.').waitFor();
  await becomes(() => side(page).getByRole('button', { name: 'Delete…' }).count(), 0);
  await page.getByRole('link', { name: 'Data' }).click();
  await rowsOf(page, 'Datasets').first().waitFor();
  await becomes(() => page.getByRole('button', { name: 'Upload…' }).count(), 0);
  await closeSound(page);
});

// Names of regions whose content goes beyond their width.
const tooWide = () => [document.documentElement, ...document.querySelectorAll('.middle, .side, .now, .sheet, .bar, .head')].filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.className || 'page');

for (const theme of ['light', 'dark'])
  test(`axe finds no serious fault on any page, and all of them fit both sizes, ${theme}`, async () => {
    const { models } = await service.ask('GET', '/api/models');
    const paths = ['/jobs', `/jobs/${made.first.id}`, '/runs', `/runs/${made.first.run}`, `/compare?runs=${made.first.run},${made.second.run}`, `/sweeps/${made.sweep.id}`, `/models/${models[0].id}`, '/data', '/data/few'];
    const page = await openPage(browser, service, { path: '/jobs', theme });
    for (const path of paths) {
      await page.goto(service.url + path);
      await page.getByRole('navigation', { name: 'Pages' }).waitFor();
      await page.waitForLoadState('networkidle', { timeout: 2000 }).catch(() => {}); // the page of jobs asks on
      await accessible(page, path);
      for (const size of [{ width: 820, height: 1180 }, { width: 1280, height: 720 }]) {
        await page.setViewportSize(size);
        await becomes(async () => (await page.evaluate(tooWide)).map((region) => `${path} at ${size.width}: ${region}`), []);
      }
    }
    await closeSound(page);
  });
