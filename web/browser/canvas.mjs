// What a person does on the canvas, for the tests.
export const node = (page, id) => page.locator(`.react-flow__node[data-id="${id}"]`);
export const pill = (page, id, state) => node(page, id).locator('.pill', { hasText: new RegExp(`^${state}$`) });

export async function set(page, label, value) {
  const field = page.locator('.inspector').getByLabel(label, { exact: true });
  if ((await field.count()) === 0) await page.getByRole('button', { name: /more settings/ }).click();
  if ((await field.evaluate((element) => element.tagName)) === 'SELECT') await field.selectOption(value);
  else await field.fill(value);
}

export async function dragCard(page, title, x, y) {
  const area = await page.locator('.canvas-area').boundingBox();
  await page.locator('.palette-item', { hasText: new RegExp(`^${title}$`) }).dragTo(page.locator('.react-flow__pane'), { targetPosition: { x: x * area.width, y: y * area.height } });
}

export async function wire(page, from, output, to, input) {
  const start = await node(page, from).locator(`.react-flow__handle[data-handleid="${output}"]`).boundingBox();
  const end = await node(page, to).locator(`.react-flow__handle[data-handleid="${input}"]`).boundingBox();
  await page.mouse.move(start.x + start.width / 2, start.y + start.height / 2);
  await page.mouse.down();
  await page.mouse.move(end.x + end.width / 2 - 8, end.y + end.height / 2, { steps: 4 });
  await page.mouse.move(end.x + end.width / 2, end.y + end.height / 2, { steps: 2 });
  await page.mouse.up();
}

// A document that trains a small network on a sample for so many epochs.
export const trainingDocument = (epochs, name = 'small', rows = 400) => `# kept as it is
version: 1
name: ${name}
cards:
  load:
    type: data_load
    config: { source: sample, sample_name: boston_housing, sample_rows: ${rows} }
  split:
    type: data_split
    inputs: { dataset: load.dataset }
  model:
    type: model_define_gpu
    config: { hidden_layers: [8], epochs: ${epochs}, batch_size: 8, early_stopping_patience: 0 }
  train:
    type: train
    inputs: { train_dataset: split.train_dataset, model_spec: model.model_spec }
    config: { target_column: MEDV, device: cpu }
  evaluate:
    type: evaluate
    inputs: { trained_model: train.trained_model, test_dataset: split.test_dataset }
`;

export async function saveDocument(service, content, name = 'small') {
  return service.ask('POST', '/api/projects/default/documents', { name, content });
}

export async function contentOf(service, id) {
  return (await service.ask('GET', `/api/documents/${id}`)).content;
}
