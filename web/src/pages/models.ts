import type { ModelColumn } from './try_form';

export interface Model {
  id: string;
  name: string;
  bytes: number;
  created: string;
  deployed_as: string[];
  job?: string;
  run?: string;
  family: string;
  task: string;
  target: string;
  columns: ModelColumn[];
  parameters: number;
  members?: number;
  classes?: string[];
  class_count?: number;
  steps?: number;
  cubes?: { channels: number; wavelengths: number[] }; // what it reads in place of rows
  predicts_from_memory: boolean;
  tells_intervals?: boolean; // models that came on record earlier do not say
  why_not_from_memory?: string;
  metrics?: Record<string, Record<string, number | null>>;
}

// Every word in name, family, target or a name that it is deployed under.
export function filteredModels(models: readonly Model[], text: string): readonly Model[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return models;
  return models.filter((model) => {
    const told = [model.name, model.family, model.target, ...model.deployed_as].join(' ').toLowerCase();
    return words.every((word) => told.includes(word));
  });
}
