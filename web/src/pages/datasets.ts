import type { Dataset } from './DataForms';

// Newest first; of those that came at the same moment by their ids.
export const newestFirst = (datasets: readonly Dataset[]): readonly Dataset[] =>
  [...datasets].sort((a, b) => b.added.localeCompare(a.added) || a.id.localeCompare(b.id));

// What is asked of the service to put a sample on record. Rows are written into its database; cubes are made again
// whenever they are read, so that the sample itself is the source.
const samplesOfCubes = new Set(['spectral_stress']);
export function sampleRequest(sample: string, seed: number, rows: number | null, id: string): { path: string; body: object } {
  const named = id ? { id } : {};
  if (!samplesOfCubes.has(sample)) return { path: '/api/datasets/generate', body: { sample, seed, ...named, ...(rows === null ? {} : { rows }) } };
  return { path: '/api/datasets', body: { ...named, source: { source: 'sample', sample_name: sample, sample_seed: seed, ...(rows === null ? {} : { sample_rows: rows }) } } };
}

// A document that loads a dataset and nothing else, to go on from in the canvas.
export function documentOf({ id }: Pick<Dataset, 'id'>): string {
  const quoted = JSON.stringify(id);
  return `version: 2\nname: ${quoted}\ncards:\n  load:\n    type: data_load\n    config: { source: datasets, dataset_ids: [${quoted}] }\nlayout: { load: [0, 0] }\n`;
}
