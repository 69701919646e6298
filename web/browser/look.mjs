// STOKER=build/stoker node browser/look.mjs FOLDER: pictures of the canvas in both themes and sizes, to be looked at.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launchBrowser, openPage } from './browser.mjs';
import { Service } from './service.mjs';

const folder = process.argv[2] ?? 'pictures';
mkdirSync(folder, { recursive: true });
const sizes = { wide: { width: 1280, height: 720 }, tablet: { width: 820, height: 1180 } };
const exampleOf = (name) => readFileSync(new URL(`../../examples/${name}.yaml`, import.meta.url), 'utf8');
const example = exampleOf('boston_housing');

const service = await Service.start();
const browser = await launchBrowser();
try {
  const saved = await service.ask('POST', '/api/projects/default/documents', { name: 'boston-housing', content: example });
  const graph = await service.ask('POST', '/api/projects/default/documents', { name: 'spectral-stress', content: exampleOf('spectral_stress') });
  for (const theme of ['light', 'dark'])
    for (const [name, size] of Object.entries(sizes)) {
      const shot = (what) => page.screenshot({ path: join(folder, `${what}-${name}-${theme}.png`) });
      const page = await openPage(browser, service, { theme, size, token: null });
      await shot('sign-in');
      await page.getByLabel('Token').fill(service.token);
      await page.keyboard.press('Enter');
      await page.getByText('An empty canvas').waitFor();
      await shot('empty');
      await page.goto(`${service.url}/documents/${saved.id}`);
      await page.locator('.card').nth(4).waitFor();
      await page.waitForTimeout(300);
      await shot('document');
      if (theme === 'light' && name === 'wide') {
        await page.getByRole('button', { name: 'Run all' }).click();
        await page.locator('.react-flow__node[data-id=train] .pill.run').waitFor({ timeout: 60_000 });
        await page.waitForTimeout(1500);
        await shot('running');
      }
      await page.locator('.react-flow__node[data-id=evaluate] .pill.ok').waitFor({ timeout: 120_000 });
      await page.locator('.react-flow__node[data-id=train]').click();
      await page.waitForTimeout(300);
      await shot('settings');
      for (const card of ['load', 'train', 'evaluate']) {
        await page.locator(`.react-flow__node[data-id=${card}]`).click();
        await page.getByRole('tab', { name: 'Preview' }).click();
        await page.waitForTimeout(600);
        await shot(`preview-${card}`);
      }
      await page.getByRole('tab', { name: 'Documents' }).click();
      await page.waitForTimeout(300);
      await shot('documents');
      await page.goto(`${service.url}/documents/${graph.id}`);
      await page.locator('.react-flow__node[data-id=model]').click();
      await page.getByRole('button', { name: 'Open the graph' }).click();
      await page.locator('.react-flow__node[data-id=first_pca]').click();
      await page.waitForTimeout(600);
      await shot('graph');
      if (page.faults.length > 0) console.log(theme, name, page.faults);
      await page.context().close();
    }
} finally {
  await browser.close();
  await service.end();
}
