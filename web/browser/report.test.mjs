// report.html of a real run: names and numbers of any length stay within their tiles and tables, and lines have the colors
// of training and validation.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, test } from 'node:test';
import { launchBrowser } from './browser.mjs';

const longName = 'population_density_of_the_census_tract_without_any_blank_in_its_name';
let folder;
let browser;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stoker-report-'));
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

function report(name, csv, options) {
  writeFileSync(join(folder, `${name}.csv`), csv);
  const ran = spawnSync(process.env.STOKER, ['train', `${name}.csv`, '--device', 'cpu', '--out', name, '--quiet', ...options], { cwd: folder, encoding: 'utf8' });
  assert.equal(ran.status, 0, ran.stderr);
  const run = readdirSync(join(folder, name)).find((each) => each.includes(name) && !each.startsWith('.'));
  return pathToFileURL(join(folder, name, run, 'report.html')).href;
}

async function open(url, size) {
  const context = await browser.newContext({ viewport: size });
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

// Elements whose content is wider than they are.
const overflowing = (page) => page.evaluate(() => [...document.querySelectorAll('.tile, .tile dt, .tile dd, section, table th')]
  .filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX === 'visible' && each.clientWidth > 0)
  .map((each) => `${each.tagName}.${each.className}: ${each.textContent.trim().slice(0, 60)}`));

test('long names and large numbers stay within the report', async () => {
  const rows = Array.from({ length: 120 }, (_, i) => `${i % 7},${(i * 37) % 11},${1e7 * ((i % 7) + 3 * ((i * 37) % 11) + ((i * 13) % 5))}`);
  const url = report('large', `a,b,${longName}\n${rows.join('\n')}\n`, ['--target', longName, '--model', 'ridge']);
  for (const width of [1280, 760, 380]) {
    const page = await open(url, { width, height: 800 });
    assert.deepEqual(await overflowing(page), [], `at ${width} pixels`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `the page scrolls sideways at ${width} pixels`);
    await page.context().close();
  }
});

test('accuracy by epoch is drawn in the colors of training and validation', async () => {
  const rows = Array.from({ length: 240 }, (_, i) => `${Math.sin(i)},${Math.cos(i * 1.3)},${Math.sin(i) > Math.cos(i * 1.3) ? 'yes' : 'no'}`);
  const url = report('classes', `x,y,is_above\n${rows.join('\n')}\n`, ['--target', 'is_above', '--validation-ratio', '0.25', '--epochs', '8']);
  const page = await open(url, { width: 1280, height: 900 });
  const figure = page.locator('figure', { hasText: 'Accuracy by epoch' }).first();
  await figure.locator('.u-legend').waitFor();
  const markers = await figure.locator('.u-legend .u-series').evaluateAll((all) => all.map((each) => [each.textContent.trim().split(/\s|:/)[0], each.querySelector('.u-marker') ? getComputedStyle(each.querySelector('.u-marker')).borderTopColor : '']));
  const colors = await page.evaluate(() => ['--training', '--validation'].map((name) => {
    const probe = document.createElement('i');
    probe.style.setProperty('color', getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    document.body.append(probe);
    return getComputedStyle(probe).color;
  }));
  assert.deepEqual(Object.fromEntries(markers.filter(([label]) => ['training', 'validation'].includes(label))), { training: colors[0], validation: colors[1] });
  await page.context().close();
});
