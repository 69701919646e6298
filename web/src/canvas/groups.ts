import type { CardType, NodeKind } from '../api/types';

export type Group = 'data' | 'model' | 'train' | 'look' | 'step' | NodeKind;
const allGroups: Group[] = ['data', 'model', 'train', 'look', 'step', 'statistical', 'stateless', 'decider', 'loss', 'metric'];

// What goes between the cards of one training step, and nowhere else.
const insideStep = new Set(['batch', 'network', 'optimizer', 'arrays']);

// Where a type of card stands in the palette, by what it takes and gives.
export function groupOf(type: CardType): Group {
  if (type.kind) return type.kind;
  const gives = new Set(type.outputs.map((port) => port.type));
  if ([...type.inputs, ...type.outputs].some((port) => insideStep.has(port.type))) return 'step';
  if (gives.has('model')) return 'train';
  if (gives.has('model_spec')) return 'model';
  return type.inputs.some((port) => port.type === 'model') || !gives.has('table') ? 'look' : 'data';
}

export const colourOfGroup: Record<Group, string> = { data: 'table', model: 'spec', train: 'model', look: 'report', step: 'muted', statistical: 'spec', stateless: 'muted', decider: 'report', loss: 'model', metric: 'report' };

const colours: Record<string, string> = {
  table: 'table', model_spec: 'spec', model: 'model', report: 'report',
  batch: 'table', optimizer: 'spec', network: 'model', arrays: 'report',
};
// Of nodes: a number for every pixel, marks of pixels, one number alone, and whatever is known of channels.
export function colourOfPort({ type, shape }: { type: string; shape?: readonly number[] }): string {
  if (!shape) return colours[type] ?? 'muted';
  if (type === 'uint8') return 'report';
  return shape.length === 4 ? 'table' : shape.length === 0 ? 'model' : 'spec';
}

// Those that have all the words, the ones that are called so before the ones that only tell of it.
function found(types: Iterable<CardType>, wanted: string): CardType[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const rank = (type: CardType) =>
    (type.title.toLowerCase().startsWith(wanted.trim().toLowerCase()) ? 0 : 1) + (has(`${type.title} ${type.name}`) ? 0 : 2);
  return [...types].filter((type) => has(`${type.title} ${type.name} ${type.help}`)).sort((a, b) => rank(a) - rank(b));
}

export function cardsFound(types: Iterable<CardType>, wanted: string): { groups: Record<Group, CardType[]>; best: CardType | undefined } {
  const groups = Object.fromEntries(allGroups.map((group) => [group, []])) as unknown as Record<Group, CardType[]>;
  const all = found(types, wanted);
  for (const type of all) groups[groupOf(type)].push(type);
  return { groups, best: all[0] };
}
