import type { CardType } from '../api/types';

export type Group = 'data' | 'model' | 'train' | 'look';

// Where a type of card stands in the palette, by what it takes and gives.
export function groupOf(type: CardType): Group {
  const gives = new Set(type.outputs.map((port) => port.type));
  if (gives.has('model')) return 'train';
  if (gives.has('model_spec')) return 'model';
  return type.inputs.some((port) => port.type === 'model') || !gives.has('table') ? 'look' : 'data';
}

export const colourOfGroup: Record<Group, string> = { data: 'table', model: 'spec', train: 'model', look: 'report' };

const colours: Record<string, string> = { table: 'table', model_spec: 'spec', model: 'model', report: 'report' };
export const colourOfPort = (type: string): string => colours[type] ?? 'muted';

export function cardsFound(types: Iterable<CardType>, wanted: string): Record<Group, CardType[]> {
  const found: Record<Group, CardType[]> = { data: [], model: [], train: [], look: [] };
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (type: CardType) => words.every((word) => `${type.title} ${type.name} ${type.help}`.toLowerCase().includes(word));
  // Names count before help.
  const inName = (type: CardType) => words.every((word) => `${type.title} ${type.name}`.toLowerCase().includes(word));
  for (const type of [...types].filter(matches).sort((a, b) => Number(inName(b)) - Number(inName(a)))) found[groupOf(type)].push(type);
  return found;
}
