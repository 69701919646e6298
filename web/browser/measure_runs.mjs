// STOKER=build/stoker node browser/measure_runs.mjs [RUNS]: how smoothly a long list of runs loads, scrolls, sorts and filters,
// as figures. Asserts nothing. Tasks are counted by the time of the processor, so that whatever else the machine does is not in it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launchBrowser, openPage } from './browser.mjs';
import { Service } from './service.mjs';

const count = Number(process.argv[2] ?? 10_000);
const two = (value) => String(value).padStart(2, '0');

// Records as runs write them, in folders as runs are named.
function writeRuns(folder) {
  for (let number = 0; number < count; ++number) {
    const clock = [two(Math.floor(number / 3600) % 24), two(Math.floor(number / 60) % 60), two(number % 60)];
    const name = ['boston-housing', 'friedman', 'wells', 'ridge'][number % 4];
    const run = join(folder, `2026-11-${two(1 + Math.floor(number / 86400))}_${clock.join('-')}_${name}_${String(number).padStart(8, '0')}`);
    mkdirSync(run, { recursive: true });
    const error = 1 + ((number * 7919) % 1000) / 500;
    const metrics = [{ name: 'r2', value: 1 - error / 4 }, { name: 'rmse', value: error }, { name: 'mae', value: 0.8 * error }, { name: 'mse', value: error * error }];
    const record = { format: 1, name, status: number % 50 === 0 ? 'failed' : 'finished', started: `2026-11-01T${clock.join(':')}.000Z`, seconds: 1 + (number % 100), results: [{ card: 'evaluate', rows: 1000, metrics }] };
    writeFileSync(join(run, 'run.json'), JSON.stringify(record));
  }
}

async function traced(browser, page, act) {
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline'] });
  await act();
  const { traceEvents: events } = JSON.parse((await browser.stopTracing()).toString());
  const ofPage = events.find((event) => event.name === 'thread_name' && event.args?.name === 'CrRendererMain' && events.some((each) => each.tid === event.tid && each.pid === event.pid && each.name === 'FunctionCall'));
  const isTask = (event) => event.ph === 'X' && event.tid === ofPage?.tid && event.pid === ofPage?.pid && /(^|::)RunTask$/.test(event.name);
  const tasks = events.filter(isTask).map((event) => (event.tdur ?? event.dur) / 1000).sort((a, b) => b - a);
  return { longest: tasks[0] ?? 0, above50: tasks.filter((task) => task > 50).length, tasks: tasks.length };
}

const service = await Service.start();
const browser = await launchBrowser();
try {
  writeRuns(join(service.folder, 'data', 'runs'));
  const page = await openPage(browser, service, { path: '/data' });
  page.setDefaultTimeout(120_000);
  const list = page.getByRole('grid', { name: 'Runs' }).locator('.list-body');
  const all = `${count.toLocaleString('en')} in all`;
  const acts = {
    'all pages load': async () => {
      const begin = performance.now();
      await page.getByRole('link', { name: 'Runs' }).click();
      await page.getByRole('grid', { name: 'Runs' }).locator('.list-row').first().waitFor();
      const first = performance.now() - begin;
      await page.getByText(all).waitFor();
      return `first rows after ${first.toFixed(0)} ms, all ${count.toLocaleString('en')} after ${((performance.now() - begin) / 1000).toFixed(1)} s`;
    },
    'scroll by the wheel': async () => {
      await list.hover();
      for (let turn = 0; turn < 150; ++turn) {
        await page.mouse.wheel(0, 400);
        await page.waitForTimeout(16);
      }
    },
    'jump to the end and back': async () => {
      await list.focus();
      for (const key of ['End', 'Home', 'End', 'PageUp', 'PageUp', 'ArrowUp', 'Home']) {
        await page.keyboard.press(key);
        await page.waitForTimeout(100);
      }
    },
    'sort by three columns': async () => {
      for (const name of ['R²', 'RMSE', 'Run']) {
        await page.getByRole('grid', { name: 'Runs' }).getByRole('button', { name, exact: false }).first().click();
        await page.waitForTimeout(150);
      }
    },
    'filter as one types': async () => {
      await page.getByLabel('Find by name').pressSequentially('friedman 0001', { delay: 60 });
      await page.waitForTimeout(400);
    },
  };
  for (const [name, act] of Object.entries(acts)) {
    let words = '';
    const found = await traced(browser, page, async () => (words = (await act()) ?? ''));
    console.log(`${name}: longest task ${found.longest.toFixed(1)} ms, ${found.above50} above 50 ms of ${found.tasks}${words && `; ${words}`}`);
  }
} finally {
  await browser.close();
  await service.end();
}
