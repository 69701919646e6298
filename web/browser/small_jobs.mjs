// Small real jobs for tests, pictures and measurements of the pages.
const lines = ({ name, epochs, rate, rows, hidden }) => `version: 1
name: ${name}
cards:
  load:
    type: data_load
    config: { source: sample, sample_name: friedman, sample_rows: ${rows} }
  split:
    type: data_split
    inputs: { dataset: load.dataset }
  model:
    type: model_define_gpu
    config: { hidden_layers: ${hidden}, learning_rate: ${rate}, epochs: ${epochs}, batch_size: 64, validation_ratio: 0.15 }
  train:
    type: train_gpu
    inputs: { train_dataset: split.train_dataset, model_spec: model.model_spec }
    config: { target_column: y, device: cpu }
  evaluate:
    type: evaluate
    inputs: { trained_model: train.trained_model, test_dataset: split.test_dataset }
`;

export const training = ({ name = 'friedman-small', epochs = 20, rate = '0.003', rows = 1000, hidden = '[16, 8]' } = {}) => lines({ name, epochs, rate, rows, hidden });

// One that does not end by itself within a test.
export const longTraining = (name = 'friedman-long') => training({ name, epochs: 900_000, rows: 20_000, hidden: '[32, 16]' });

// One whose target is not among the columns: it fails once its rows are read.
export const failing = (name = 'friedman-wrong') => training({ name }).replace('target_column: y', 'target_column: z');

export const search = (name = 'friedman-search') => `${training({ name, epochs: 6, rate: '{ log_uniform: [0.0005, 0.02] }', hidden: '{ choice: [[16], [16, 8], [32]] }' })}sweep:
  strategy: random
  models: 12
`;

const ends = ['completed', 'failed', 'cancelled', 'paused'];

export async function untilJob(service, id, states = ends) {
  for (;;) {
    const job = await service.ask('GET', `/api/training/jobs/${id}`);
    if (states.includes(job.state)) return job;
    if (ends.includes(job.state)) throw new Error(`job ${id} is ${job.state}, not ${states}: ${job.reason}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export const startJob = (service, document) => service.ask('POST', '/api/training/jobs', { document });
export const startSweep = (service, document) => service.ask('POST', '/api/sweeps', { document });
export const doneJob = async (service, document) => untilJob(service, (await startJob(service, document)).id, ['completed']);
