import type { CardInput, CardOutput, CardType } from '../api/types';
import { text } from '../text';
import { cardIds, connectionsTo, reachedFrom, typeOf, type Connection, type Tree } from './document';

export type CardTypes = ReadonlyMap<string, CardType>;

export const inputOf = (types: CardTypes, document: Tree, card: string, name: string): CardInput | undefined =>
  types.get(typeOf(document, card))?.inputs.find((each) => each.name === name);

export const outputOf = (types: CardTypes, document: Tree, card: string, name: string): CardOutput | undefined =>
  types.get(typeOf(document, card))?.outputs.find((each) => each.name === name);

// Outputs that some card can read; what is only looked at needs no port.
export function readableOutputs(types: CardTypes, type: CardType): CardOutput[] {
  const read = new Set([...types.values()].flatMap((each) => each.inputs.map((input) => input.type)));
  return type.outputs.filter((output) => read.has(output.type));
}

// A sentence for people; null: it can be connected.
export function whyNotConnect(types: CardTypes, document: Tree, wanted: Connection): string | null {
  const output = outputOf(types, document, wanted.from, wanted.output);
  const input = inputOf(types, document, wanted.to, wanted.input);
  if (!output || !input) return text.ports.unknown;
  if (wanted.from === wanted.to) return text.ports.itself;
  if (output.type !== input.type) return text.ports.otherType(input.name, input.type, output.name, output.type);
  if (reachedFrom(document, wanted.to).has(wanted.from)) return text.ports.circle(wanted.from, wanted.to);
  return null;
}

// Everything that an input could be connected to.
export function choicesFor(types: CardTypes, document: Tree, to: string, input: string): Connection[] {
  return cardIds(document).flatMap((from) =>
    (types.get(typeOf(document, from))?.outputs ?? [])
      .map((output) => ({ from, output: output.name, to, input }))
      .filter((each) => whyNotConnect(types, document, each) === null));
}

export const missingInputs = (types: CardTypes, document: Tree, id: string): CardInput[] => {
  const connected = new Set(connectionsTo(document, id).map((each) => each.input));
  return (types.get(typeOf(document, id))?.inputs ?? []).filter((input) => input.required && !connected.has(input.name));
};
