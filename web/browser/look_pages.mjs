// STOKER=build/stoker node browser/look_pages.mjs FOLDER [PAGE]: pictures of the pages beside the canvas, in both themes and sizes.
import { mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { launchBrowser, openPage } from './browser.mjs';
import { Service } from './service.mjs';
import { doneJob, failing, longTraining, search, startJob, startSweep, training, untilJob } from './small_jobs.mjs';

const [folder = 'pictures', only = ''] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const sizes = { wide: { width: 1280, height: 720 }, tablet: { width: 820, height: 1180 } };

const service = await Service.start();
const browser = await launchBrowser();
const made = {};

// What each page is looked at with: where it is, and what is done there before the picture.
const looks = {
  'jobs-empty': { path: () => '/jobs', before: true },
  'runs-empty': { path: () => '/runs', before: true },
  'models-empty': { path: () => '/models', before: true },
  jobs: { path: () => `/jobs/${made.running.id}`, wait: 1500 },
  'jobs-queued': { path: () => `/jobs/${made.queued.id}` },
  'jobs-failed': { path: () => `/jobs/${made.failed.id}` },
  'jobs-done': { path: () => `/jobs/${made.first.id}`, act: (page) => page.getByRole('tab', { name: 'Metrics' }).click() },
  runs: { path: () => `/runs/${made.first.run}` },
  'runs-pictures': { path: () => `/runs/${made.first.run}`, act: (page) => page.getByRole('tab', { name: 'Pictures' }).click() },
  'runs-files': { path: () => `/runs/${made.second.run}`, act: (page) => page.getByRole('tab', { name: 'Files' }).click() },
  'runs-document': { path: () => `/runs/${made.second.run}`, act: (page) => page.getByRole('tab', { name: 'Document' }).click() },
  compare: { path: () => `/compare?runs=${made.first.run},${made.second.run},${made.sweep.run}` },
  'compare-rows': { path: () => `/compare?runs=${made.first.run},${made.known.run},${made.second.run}` },
  'runs-failed': { path: () => `/runs/${made.failed.run}` },
  'runs-stopped': { path: () => `/runs/${made.stopped.run}` },
  'jobs-stopped': { path: () => `/jobs/${made.stopped.id}` },
  sweep: { path: () => `/sweeps/${made.sweep.id}`, act: (page) => page.getByLabel('Across', { exact: true }).selectOption('model.learning_rate') },
  models: { path: () => `/models/${made.model.id}` },
  'models-try': {
    path: () => `/models/${made.model.id}`,
    act: async (page) => {
      await page.getByRole('tab', { name: 'Try it' }).click();
      await page.getByRole('button', { name: 'Fill in a row of its data' }).click();
      await page.waitForTimeout(500);
      await page.getByLabel('With an interval for 90 % of the values').check();
      await page.getByRole('button', { name: 'Predict' }).click();
      await page.getByTestId('prediction').waitFor();
    },
  },
  'models-far': {
    path: () => `/models/${made.model.id}`,
    act: async (page) => {
      await page.getByRole('tab', { name: 'Try it' }).click();
      await page.getByLabel('x0', { exact: true }).fill('5000');
      await page.getByRole('button', { name: 'Predict' }).click();
      await page.getByTestId('prediction').waitFor();
      await page.getByText(/^\d+ notes$/).click();
    },
  },
  data: { path: () => `/data/${made.table}`, wait: 1500 },
  'data-check': {
    path: () => `/data/${made.table}`,
    act: async (page) => {
      await page.getByRole('tab', { name: 'Check' }).click();
      await page.getByRole('button', { name: 'Validate' }).click();
      await page.locator('.side .notice').waitFor();
    },
  },
  'data-upload': { path: () => '/data', act: (page) => page.getByRole('button', { name: 'Upload…' }).click() },
};

async function take(name, look, theme, sizeName) {
  const page = await openPage(browser, service, { path: look.path(), theme, size: sizes[sizeName] });
  await page.waitForTimeout(look.wait ?? 1200);
  if (look.act) {
    await look.act(page);
    await page.waitForTimeout(500);
  }
  await page.screenshot({ path: join(folder, `${name}-${sizeName}-${theme}.png`) });
  if (page.faults.length > 0) console.log(name, theme, sizeName, page.faults);
  await page.context().close();
}

// A table of one's own (TABLE=penguins.csv), else a sample.
async function putTable() {
  const { TABLE } = process.env;
  if (!TABLE) return (await service.ask('POST', '/api/datasets/generate', { id: 'houses', sample: 'boston_housing', rows: 2000 })).id;
  const answer = await fetch(`${service.url}/api/datasets/upload?name=${basename(TABLE)}&id=table`, { method: 'POST', headers: { Authorization: `Bearer ${service.token}` }, body: readFileSync(TABLE) });
  return (await answer.json()).id;
}

async function takeAll(before) {
  for (const [name, look] of Object.entries(looks))
    if (Boolean(look.before) === before && only.split(',').some((each) => name.startsWith(each)))
      for (const theme of ['light', 'dark']) for (const size of Object.keys(sizes)) await take(name, look, theme, size);
}

try {
  await takeAll(true);
  made.first = await doneJob(service, training());
  made.second = await doneJob(service, training({ name: 'friedman-fast', rate: '0.01' }));
  made.known = await doneJob(service, training({ name: 'friedman-known' }).replace('test_dataset: split.test_dataset', 'test_dataset: split.train_dataset'));
  await doneJob(service, training({ name: 'blobs' }).replace('sample_name: friedman', 'sample_name: blobs').replace('target_column: y', 'target_column: label, task: multiclass'));
  made.stopped = await startJob(service, longTraining('friedman-stopped'));
  while ((await service.ask('GET', `/api/training/jobs/${made.stopped.id}`)).progress?.epoch === undefined) await new Promise((resolve) => setTimeout(resolve, 100));
  await service.ask('POST', `/api/training/jobs/${made.stopped.id}/cancel`);
  made.stopped = await untilJob(service, made.stopped.id, ['cancelled']);
  made.failed = await untilJob(service, (await startJob(service, failing())).id, ['failed']);
  made.sweep = await untilJob(service, (await startSweep(service, search())).id, ['completed']);
  made.running = await startJob(service, longTraining());
  made.queued = await startJob(service, training({ name: 'a training with a long name that waits until the one before it has ended' }));
  await untilJob(service, made.running.id, ['running']);
  made.model = (await service.ask('GET', '/api/models')).models.find((model) => model.job === made.first.id);
  await service.ask('PUT', '/api/models/deployments/houses', { model: made.model.id });
  made.table = await putTable();
  await takeAll(false);
} finally {
  await browser.close();
  await service.end();
}
