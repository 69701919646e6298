// Files that belong together are chosen together, in a real browser with a real service.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { unzipSync } from 'fflate';
import { closeSound, openPage } from './browser.mjs';
import { withService } from './setup.mjs';
import { doneJob } from './small_jobs.mjs';

const HEADER = 'ENVI\nsamples = 4\nlines = 3\nbands = 2\nheader offset = 0\ndata type = 4\ninterleave = bip\nbyte order = 0\n';
const NUMBERS = Buffer.from(new Float32Array(24).map((_, i) => i).buffer);
const sent = (name, content) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });

const parts = withService();

test('header and numbers of a cube in ENVI form come on record as one dataset', async () => {
  const page = await openPage(parts.browser, parts.service, { path: '/data' });
  await page.getByRole('button', { name: 'Upload…' }).click();
  await page.getByLabel('File').setInputFiles([sent('field.hdr', HEADER), sent('field.img', NUMBERS)]);
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
  await page.getByText('field is on record.').waitFor();
  const made = await parts.service.ask('GET', '/api/datasets/field');
  assert.deepEqual(made.cubes, { count: 1, height: 3, width: 4, channels: 2 });
  assert.equal(made.source, 'field.zip');
  assert.equal((await parts.service.ask('GET', '/api/datasets/field/preview')).cubes.highest, 23);
  await closeSound(page);
});

test('a model of cubes is tried with files of a cube', async () => {
  const document = {
    version: 1,
    name: 'detector',
    cards: {
      load: { type: 'data_load', config: { source: 'datasets', dataset_ids: ['field'] } },
      model: { type: 'model_define_gpu', config: { model_type: 'node_graph', nodes: [{ name: 'data', type: 'CubeDataNode' }, { name: 'rx', type: 'RXGlobal', settings: { eps: 0.1 } }], connections: [{ source: 'data.cube', target: 'rx.data' }] } },
      train: { type: 'train', inputs: { train_dataset: 'load.dataset', model_spec: 'model.model_spec' }, config: { target_column: 'mask' } },
    },
  };
  const job = await doneJob(parts.service, document);
  assert.equal(job.state, 'completed', job.reason);
  const [model] = (await parts.service.ask('GET', '/api/models')).models;
  const page = await openPage(parts.browser, parts.service, { path: `/models/${model.id}` });
  await page.getByRole('tab', { name: 'Try it' }).click();
  await page.getByRole('button', { name: 'Deploy as detector and try it' }).click();
  await page.getByLabel('Cubes').setInputFiles([sent('wood.hdr', HEADER), sent('wood.img', NUMBERS)]);
  await page.getByRole('button', { name: 'Predict' }).click();
  await page.getByText(/^wood: 3 × 4 pixels, scores from \S+ to \S+$/).waitFor();
  const [scores] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download all scores' }).click()]);
  assert.equal(scores.suggestedFilename(), 'wood_scores.zip');
  const files = unzipSync(readFileSync(await scores.path()));
  assert.deepEqual(Object.keys(files).sort(), ['summary.json', 'wood_scores.npy']);
  assert.equal(files['wood_scores.npy'].length, 128 + 12 * 4);
  await page.getByLabel('Cubes').setInputFiles([sent('rows.csv', 'a\n1\n')]);
  await page.getByRole('button', { name: 'Predict' }).click();
  await page.getByRole('alert').filter({ hasText: 'no file of cubes' }).waitFor();
  await closeSound(page);
});

test('a header without its numbers, and tables that have nothing to do with each other, are refused', async () => {
  const page = await openPage(parts.browser, parts.service, { path: '/data' });
  await page.getByRole('button', { name: 'Upload…' }).click();
  await page.getByLabel('File').setInputFiles([sent('a.csv', 'a\n1\n'), sent('b.csv', 'a\n1\n')]);
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
  await page.getByText('several files go together only as files of cubes').waitFor();
  await page.getByLabel('File').setInputFiles([sent('one.hdr', HEADER), sent('two.npy', 'x')]);
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
  await page.getByRole('alert').filter({ hasText: 'no file of numbers beside this header' }).waitFor();
  await closeSound(page);
});
