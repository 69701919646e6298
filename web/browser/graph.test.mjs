// A model that is a graph of nodes: opened, looked at, edited, saved and run on the canvas.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { accessible, becomes, closeSound, openPage } from './browser.mjs';
import { contentOf, node, pill, saveDocument, set, wire } from './canvas.mjs';
import { withService } from './setup.mjs';

const parts = withService();
const example = (name) => readFileSync(new URL(`../../examples/${name}.yaml`, import.meta.url), 'utf8');
// Fewer cubes of the same kind.
const small = () => example('spectral_stress').replace('sample_name: spectral_stress', 'sample_name: spectral_stress, sample_rows: 10').replace('epochs: 5', 'epochs: 2');

async function openGraph(content, options = {}) {
  const saved = await saveDocument(parts.service, content, 'graph');
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}`, ...options });
  await node(page, 'model').click();
  await page.getByRole('button', { name: 'Open the graph' }).click();
  await page.getByRole('button', { name: /Back to the document/ }).waitFor();
  return { page, id: saved.id };
}

async function save(page) {
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('saved', { exact: true }).waitFor();
}

// In the theme of the page and in the other one.
async function accessibleInBoth(page, where) {
  await accessible(page, where);
  await page.getByRole('button', { name: /(Dark|Light) theme/ }).click();
  await accessible(page, `${where}, the other theme`);
}

const inspector = (page) => page.locator('.inspector');
async function pick(page, name) {
  await node(page, name).click();
  await inspector(page).locator('b', { hasText: new RegExp(`^${name}$`) }).waitFor();
}
// What an input of the selected node reads from.
const need = (page, input) => inspector(page).locator('.need', { has: page.locator('.need-name > span', { hasText: new RegExp(`^${input}$`) }) }).locator('select');
const problems = (page) => inspector(page).locator('.field-error').allTextContents();
const linesOf = (text) => text.split('\n').map((line) => line.trim());
// What is in one text and not in the other.
const apart = (text, other) => linesOf(text).filter((line) => !linesOf(other).includes(line));

for (const [name, nodes, connections] of [['spectral_stress', 10, 12], ['channel_selection', 10, 12], ['deep_svdd', 10, 14]])
  test(`${name} shows its nodes with ports and connections, and is saved byte for byte`, async () => {
    const { page, id } = await openGraph(example(name));
    await becomes(() => page.locator('.react-flow__node').count(), nodes);
    await becomes(() => page.locator('.react-flow__edge').count(), connections);
    await page.getByRole('button', { name: /Back to the document/ }).click();
    await becomes(() => page.locator('.react-flow__node').count(), 5);
    await page.getByLabel('Name of the document').fill('other');
    await save(page);
    assert.equal(await contentOf(parts.service, id), example(name).replace(/^name: .*$/m, 'name: other'));
    await closeSound(page);
  });

test('a node shows what it takes and gives, with the shapes that follow from its settings', async () => {
  const { page } = await openGraph(small());
  await pick(page, 'second_pca');
  await becomes(() => inspector(page).locator('h1').textContent(), 'TrainablePCA');
  await becomes(() => inspector(page).locator('.gives').first().textContent(), 'projectedfloat32 [any, any, any, 10]');
  await becomes(() => need(page, 'data').inputValue(), 'first_pca.projected');
  await becomes(() => inspector(page).getByLabel('Trained by gradients').inputValue(), 'true');
  await set(page, 'N components', '7');
  await becomes(() => inspector(page).locator('.gives').first().textContent(), 'projectedfloat32 [any, any, any, 7]');
  await closeSound(page);
});

test('what is wrong with a node stands under its setting or its port, in the words of the document', async () => {
  const { page } = await openGraph(small().replace('n_components: 20', 'n_component: 20'));
  await becomes(() => node(page, 'first_pca').locator('.card-foot').textContent(), '2 problems');
  await pick(page, 'first_pca');
  await becomes(async () => (await problems(page)).join(' '), /did you mean n_components\?/);
  await set(page, 'N components', '0');
  await becomes(async () => (await problems(page)).join(' '), /out of range; allowed: 1 to /);
  await closeSound(page);
});

test('nodes are added, set, connected, trained, renamed and removed, and every other line stays', async () => {
  const content = small().replace('- { name: rx,', '# how far a pixel lies from the others\n      - { name: rx,');
  const { page, id } = await openGraph(content);
  // By the palette, and connected by dragging.
  await page.getByLabel('Find a node…').fill('lad');
  await page.getByLabel('Find a node…').press('Enter');
  await becomes(() => page.locator('.react-flow__node').count(), 11);
  await becomes(() => inspector(page).locator('h1').textContent(), 'LADGlobal');
  await page.getByRole('button', { name: 'Show all' }).click();
  await becomes(async () => {
    if ((await page.locator('.react-flow__edge').count()) === 12) await wire(page, 'scale', 'normalized', 'LADGlobal', 'data');
    return page.locator('.react-flow__edge').count();
  }, 13);
  // By the lists, which offer what fits alone.
  await pick(page, 'logit');
  const scores = need(page, 'scores');
  await becomes(async () => (await scores.locator('option').allTextContents()).includes('LADGlobal.scores'), true);
  assert.ok(!(await scores.locator('option').allTextContents()).includes('data.mask'), 'marks are no scores');
  await scores.selectOption('LADGlobal.scores');
  // A setting, a name, what is trained, and what is no longer needed.
  await pick(page, 'decide');
  await set(page, 'Threshold', '0.25');
  await pick(page, 'LADGlobal');
  await inspector(page).getByLabel('Name of this node').fill('lad');
  await inspector(page).getByLabel('Name of this node').press('Enter');
  await node(page, 'lad').waitFor();
  await pick(page, 'first_pca');
  await set(page, 'Trained by gradients', 'false');
  await pick(page, 'second_pca');
  await page.keyboard.press('Delete');
  await becomes(() => page.locator('.react-flow__node').count(), 10);
  await save(page);
  const saved = await contentOf(parts.service, id);
  assert.deepEqual(apart(saved, content), [
    '- { name: decide, type: BinaryDecider, settings: { threshold: 0.25 } }',
    '- { name: lad, type: LADGlobal }',
    '- { source: lad.scores, target: logit.scores }',
    '- { source: scale.normalized, target: lad.data }',
    'unfrozen: [logit]',
  ]);
  assert.deepEqual(apart(content, saved), [
    '- { name: second_pca, type: TrainablePCA, settings: { n_components: 10 } }',
    '- { name: decide, type: BinaryDecider, settings: { threshold: 0.5 } }',
    '- { source: first_pca.projected, target: second_pca.data }',
    '- { source: second_pca.projected, target: rx.data }',
    '- { source: rx.scores, target: logit.scores }',
    'unfrozen: [first_pca, second_pca, logit]',
  ]);
  // What was taken away comes back.
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Undo' }).click();
  await node(page, 'second_pca').waitFor();
  await closeSound(page);
});

test('a graph of cuvis.ai is opened as a document with cards, and saved as one', async () => {
  const page = await openPage(parts.browser, parts.service);
  await page.getByText('An empty canvas').waitFor(); // which comes a moment after the page around it
  await page.getByRole('tab', { name: 'Documents' }).click();
  const graph = 'nodes:\n- { name: data, class_name: cuvis_ai.node.data.CubeDataNode }\n- { name: rx, class_name: cuvis_ai.anomaly.rx_detector.RXGlobal }\n- { name: watcher, class_name: cuvis_ai.node.monitor.TensorBoardMonitorNode }\nconnections:\n- { source: data.outputs.cube, target: rx.inputs.data }\n';
  await page.locator('input[type=file]').setInputFiles({ name: 'rx.yaml', mimeType: 'application/yaml', buffer: Buffer.from(graph) });
  await page.getByText('This document was in an earlier form').waitFor();
  await inspector(page).getByText('watcher is left out').waitFor();
  await inspector(page).getByText('which cubes are trained on is not said').waitFor();
  await node(page, 'model').click();
  await page.getByRole('button', { name: 'Open the graph' }).click();
  await becomes(() => page.locator('.react-flow__edge').count(), 1);
  // The view may still move to show all of the graph, and a click then hits what lies beside the node.
  await becomes(async () => {
    await node(page, 'rx').click();
    return inspector(page).locator('h1').textContent();
  }, 'RXGlobal');
  await save(page);
  assert.match(await contentOf(parts.service, new URL(page.url()).pathname.split('/').at(-1)), /model_type: node_graph/);
  await closeSound(page);
});

test('keys lead into the graph, through it and out of it', async () => {
  const saved = await saveDocument(parts.service, small(), 'keys');
  const page = await openPage(parts.browser, parts.service, { path: `/documents/${saved.id}` });
  await node(page, 'model').click();
  await node(page, 'model').focus();
  await page.keyboard.press('g');
  await node(page, 'scale').waitFor();
  await page.locator('.canvas-area').getByRole('button', { name: 'Show all' }).focus();
  await page.keyboard.press('ArrowRight');
  await becomes(() => inspector(page).locator('h1').textContent(), 'CubeDataNode');
  await page.keyboard.press('ArrowRight');
  await becomes(() => inspector(page).locator('h1').textContent(), 'MinMaxNormalizer');
  // A copy of a node goes into the graph, and not among the cards.
  await page.keyboard.press('Control+c');
  await page.keyboard.press('Control+v');
  await node(page, 'scale_2').waitFor();
  await page.keyboard.press('Escape');
  await becomes(() => inspector(page).locator('h1').textContent(), 'Graph of nodes');
  await page.keyboard.press('Escape');
  await becomes(() => inspector(page).locator('h1').textContent(), 'Define a neural network');
  await page.keyboard.press('Control+v');
  await page.getByText('MinMaxNormalizer does not go here').waitFor();
  await becomes(() => page.locator('.react-flow__node').count(), 5);
  await closeSound(page);
});

test('it runs from the graph, shows its cubes, and its run has metrics, pictures and a report', async () => {
  const { page } = await openGraph(small());
  await page.getByRole('button', { name: 'Run all' }).click();
  await page.getByRole('button', { name: /Back to the document/ }).click();
  await pill(page, 'evaluate', 'done').waitFor();
  await becomes(() => node(page, 'load').locator('.card-line').textContent(), '10 cubes, 128 × 128 × 50');
  await node(page, 'load').click();
  await page.getByRole('tab', { name: 'Preview' }).click();
  await becomes(async () => (await inspector(page).locator('.facts').first().textContent()).replaceAll(' ', ' '), /128 × 128 pixels, 50 channels.*430 to 920 nm/);
  const picture = inspector(page).getByRole('img', { name: /in false colour, red, green and blue: 650 nm, 550 nm, 450 nm; marked/ });
  // Drawn: many colours, the outline among them.
  await becomes(() => picture.evaluate((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4) colours.add(`${data[at]},${data[at + 1]},${data[at + 2]}`);
    return [colours.size > 100, colours.has('250,204,21')];
  }), [true, true]);
  await inspector(page).getByRole('img', { name: /Mean spectra/ }).locator('canvas').waitFor();
  await accessibleInBoth(page, 'preview of cubes');
  await node(page, 'evaluate').click();
  await inspector(page).getByText('average precision').first().waitFor();
  await inspector(page).getByRole('link', { name: 'Open the run' }).click();
  const run = page.locator('aside.side');
  await run.getByText('average precision').first().waitFor();
  await run.getByText('node graph').waitFor();
  const report = await run.getByRole('link', { name: 'Open its report' }).getAttribute('href');
  await becomes(() => page.evaluate(async (address) => (await (await fetch(address)).text()).includes('spectral-stress'), report), true);
  await run.getByRole('tab', { name: 'Pictures' }).click();
  await becomes(() => run.locator('img').first().evaluate((image) => image.complete && image.naturalWidth > 0), true);
  await accessibleInBoth(page, 'run of a graph');
  await closeSound(page);
});

test('a sample of cubes is put on record on the data page, and seen there as cubes', async () => {
  const page = await openPage(parts.browser, parts.service, { path: '/data' });
  await page.getByRole('button', { name: 'Make a sample…' }).click();
  await page.getByLabel('Sample').selectOption('spectral_stress');
  await page.getByLabel('Id').fill('fields');
  await page.getByLabel('Rows').fill('3');
  await page.getByRole('button', { name: 'Make it' }).click();
  const side = page.locator('aside.side');
  await side.getByText('128 × 128 pixels, 50 channels').waitFor();
  await side.getByRole('img', { name: /in false colour/ }).waitFor();
  await side.getByRole('img', { name: /Mean spectra/ }).locator('canvas').waitFor();
  await accessibleInBoth(page, 'dataset of cubes');
  await page.setViewportSize({ width: 820, height: 1180 });
  await becomes(() => side.evaluate((part) => part.scrollWidth <= part.clientWidth), true);
  await side.getByRole('button', { name: 'Use it in the canvas' }).click();
  await node(page, 'load').waitFor();
  await page.getByRole('button', { name: 'Run all' }).click();
  await pill(page, 'load', 'done').waitFor();
  await becomes(() => node(page, 'load').locator('.card-line').textContent(), '3 cubes, 128 × 128 × 50');
  await closeSound(page);
});

for (const theme of ['light', 'dark'])
  for (const size of [{ width: 1280, height: 720 }, { width: 820, height: 1180 }])
    test(`the graph is fit for everybody in the ${theme} theme and fits ${size.width} pixels`, async () => {
      const { page } = await openGraph(example('deep_svdd'), { theme, size });
      await pick(page, 'project');
      await inspector(page).getByLabel('Rep dim').waitFor();
      await accessible(page, `graph, ${theme}, ${size.width}`);
      await becomes(() => page.evaluate(() => [document.documentElement, ...document.querySelectorAll('.palette-body, .inspector')].map((part) => part.scrollWidth <= part.clientWidth)), [true, true, true]);
      await page.context().close();
    });
