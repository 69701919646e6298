import type { Dataset } from './DataForms';

// Newest first; of those that came at the same moment by their ids.
export const newestFirst = (datasets: readonly Dataset[]): readonly Dataset[] =>
  [...datasets].sort((a, b) => b.added.localeCompare(a.added) || a.id.localeCompare(b.id));

// A document that loads a dataset and nothing else, to go on from in the canvas.
export function documentOf({ id }: Pick<Dataset, 'id'>): string {
  const quoted = JSON.stringify(id);
  return `version: 1\nname: ${quoted}\ncards:\n  load:\n    type: data_load\n    config: { source: datasets, dataset_ids: [${quoted}] }\nlayout: { load: [0, 0] }\n`;
}
