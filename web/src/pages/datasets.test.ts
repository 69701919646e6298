import { expect, it } from 'vitest';
import { readText } from '../core/document_text';
import type { Dataset } from './DataForms';
import { documentOf, newestFirst, sampleRequest } from './datasets';

const dataset = (id: string, added: string) => ({ id, added }) as Dataset;

it('datasets stand newest first', () => {
  const all = [dataset('a', '2026-11-15T10:00:00Z'), dataset('c', '2026-11-17T10:00:00Z'), dataset('b', '2026-11-17T10:00:00Z')];
  expect(newestFirst(all).map(({ id }) => id)).toEqual(['b', 'c', 'a']);
});

it('a document of a dataset loads it by its id, whatever that looks like', () => {
  for (const id of ['wells', '007', 'no', '1e3'])
    expect(readText(documentOf({ id })).tree).toMatchObject({ version: 2, name: id, cards: { load: { type: 'data_load', config: { source: 'datasets', dataset_ids: [id] } } } });
});

it('a sample of cubes is put on record as a sample, one of rows is written', () => {
  expect(sampleRequest('blobs', 1, null, '')).toEqual({ path: '/api/datasets/generate', body: { sample: 'blobs', seed: 1 } });
  expect(sampleRequest('spectral_stress', 1, 4, 'c')).toEqual({ path: '/api/datasets', body: { id: 'c', source: { source: 'sample', sample_name: 'spectral_stress', sample_seed: 1, sample_rows: 4 } } });
});
