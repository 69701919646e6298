// STOKER=build/stoker node browser/measure.mjs: size, loading and smoothness of the page, as figures. Asserts nothing.
import { gzipSync } from 'node:zlib';
import { launchBrowser, openPage } from './browser.mjs';
import { saveDocument } from './canvas.mjs';
import { Service } from './service.mjs';

const many = (count) => {
  const cards = {};
  for (let chain = 0; chain * 5 < count; chain++) {
    cards[`load_${chain}`] = { type: 'data_load', config: { source: 'sample', sample_name: 'boston_housing', sample_seed: chain } };
    cards[`split_${chain}`] = { type: 'data_split', inputs: { dataset: `load_${chain}.dataset` } };
    cards[`model_${chain}`] = { type: 'model_define_gpu', config: { epochs: 3 } };
    cards[`train_${chain}`] = { type: 'train', inputs: { train_dataset: `split_${chain}.train_dataset`, model_spec: `model_${chain}.model_spec` }, config: { target_column: 'MEDV' } };
    cards[`evaluate_${chain}`] = { type: 'evaluate', inputs: { trained_model: `train_${chain}.trained_model`, test_dataset: `split_${chain}.test_dataset` } };
  }
  return JSON.stringify({ version: 1, name: `${count} cards`, cards });
};

// Time of the processor, so that whatever else the machine does is not counted.
const time = (event) => (event.tdur ?? event.dur) / 1000;

// Script and layout of the main thread in a trace, by frame, and the longest task.
function fromTrace(events) {
  const main = events.find((event) => event.name === 'thread_name' && event.args?.name === 'CrRendererMain' && events.some((each) => each.tid === event.tid && each.name === 'FunctionCall'));
  const own = events.filter((event) => event.ph === 'X' && event.tid === main.tid && event.pid === main.pid);
  const tasks = own.filter((event) => event.name === 'RunTask' || event.name === 'ThreadControllerImpl::RunTask').map(time);
  const spent = ['FunctionCall', 'Layout', 'UpdateLayoutTree', 'EvaluateScript', 'FireAnimationFrame', 'EventDispatch'];
  const outer = own.filter((event) => spent.includes(event.name)).sort((a, b) => a.ts - b.ts);
  // Of what lies inside another, the outer one counts.
  let end = 0;
  const lone = outer.filter((event) => {
    if (event.ts < end) return false;
    end = event.ts + event.dur;
    return true;
  });
  const frames = own.filter((event) => event.name === 'Commit' || event.name === 'ProxyMain::BeginMainFrame::commit').map((event) => event.ts).sort((a, b) => a - b);
  const byFrame = frames.slice(1).map((to, place) => lone.filter((event) => event.ts >= frames[place] && event.ts < to).reduce((sum, event) => sum + time(event), 0));
  const sorted = byFrame.sort((a, b) => a - b);
  return { frames: sorted.length, median: sorted[Math.floor(sorted.length / 2)] ?? 0, p95: sorted[Math.floor(sorted.length * 0.95)] ?? 0, most: sorted.at(-1) ?? 0, longestTask: Math.max(0, ...tasks) };
}

async function traced(browser, page, act) {
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline', 'blink.user_timing', 'cc'] });
  await act();
  return fromTrace(JSON.parse((await browser.stopTracing()).toString()).traceEvents);
}

const shown = (value) => `${value.toFixed(1)} ms`;
const service = await Service.start();
const browser = await launchBrowser();
try {
  const saved = await saveDocument(service, many(300), '300 cards');
  const page = await openPage(browser, service);
  await page.getByText('An empty canvas').waitFor();

  // As a browser without a cache loads the canvas: everything that came, as it went over the wire.
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  let bytes = 0;
  const hosts = new Set();
  session.on('Network.loadingFinished', (event) => (bytes += event.encodedDataLength));
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  // The page takes the time itself, from the beginning of its navigation: a locator looks every half a second only.
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('.palette-item')) return;
      globalThis.paletteAfter = performance.now();
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });
  });
  const times = [];
  for (let round = 0; round < 5; round++) {
    bytes = 0;
    await page.goto(service.url);
    await page.locator('.palette-item').first().waitFor();
    times.push(await page.evaluate(() => globalThis.paletteAfter));
  }
  console.log(`page: ${(bytes / 1000).toFixed(0)} kB over the wire with what the service tells of its cards`);
  const index = await (await fetch(service.url)).text();
  console.log(`index.html: ${gzipSync(index).length} bytes compressed`);
  console.log(`load, until the palette is there: ${times.map((each) => shown(each)).join(', ')}`);
  console.log(`hosts that were asked: ${[...hosts].join(', ')}`);
  await session.detach();

  await page.goto(`${service.url}/documents/${saved.id}`);
  await page.locator('.card').nth(299).waitFor();
  await page.waitForTimeout(2000);
  const area = await page.locator('.canvas-area').boundingBox();
  const middle = { x: area.x + area.width / 2, y: area.y + area.height / 2 };
  const pan = await traced(browser, page, async () => {
    await page.mouse.move(area.x + 20, area.y + area.height - 60);
    await page.mouse.down();
    for (let step = 0; step < 90; step++) await page.mouse.move(area.x + 20 + 3 * step, area.y + area.height - 60 - 2 * step);
    await page.mouse.up();
  });
  const zoom = await traced(browser, page, async () => {
    await page.mouse.move(middle.x, middle.y);
    for (let step = 0; step < 60; step++) {
      await page.mouse.wheel(0, step < 30 ? -60 : 60);
      await page.waitForTimeout(16);
    }
  });
  for (const [name, seen] of Object.entries({ pan, zoom }))
    console.log(`300 cards, ${name}: ${seen.frames} frames, script and layout a frame ${shown(seen.median)} (median), ${shown(seen.p95)} (95 %), ${shown(seen.most)} (most); longest task ${shown(seen.longestTask)}`);
} finally {
  await browser.close();
  await service.end();
}
