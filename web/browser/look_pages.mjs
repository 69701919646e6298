// STOKER=build/stoker node browser/look_pages.mjs FOLDER [PAGE]: pictures of the pages beside the canvas, in both themes and sizes.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
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
  sweep: { path: () => `/sweeps/${made.sweep.id}`, act: (page) => page.getByLabel('Across', { exact: true }).selectOption('model.learning_rate') },
};

async function take(name, look, theme, sizeName) {
  const page = await openPage(browser, service, { path: look.path(), theme, size: sizes[sizeName] });
  await page.waitForLoadState('networkidle', { timeout: 3000 }).catch(() => {}); // a stream of events never rests
  await page.waitForTimeout(look.wait ?? 500);
  if (look.act) {
    await look.act(page);
    await page.waitForTimeout(500);
  }
  await page.screenshot({ path: join(folder, `${name}-${sizeName}-${theme}.png`) });
  if (page.faults.length > 0) console.log(name, theme, sizeName, page.faults);
  await page.context().close();
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
  made.failed = await untilJob(service, (await startJob(service, failing())).id, ['failed']);
  made.sweep = await untilJob(service, (await startSweep(service, search())).id, ['completed']);
  made.running = await startJob(service, longTraining());
  made.queued = await startJob(service, training({ name: 'a training with a long name that waits until the one before it has ended' }));
  await untilJob(service, made.running.id, ['running']);
  await takeAll(false);
} finally {
  await browser.close();
  await service.end();
}
