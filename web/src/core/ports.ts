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
  const inputs = [...types.values()].flatMap((each) => each.inputs);
  return type.outputs.filter((output) => inputs.some((input) => fits(output, input)));
}

// Of a node's port, as the service tells it in its own sentences; "any" is a size that is not known.
export const describePort = (port: { type: string; shape?: readonly number[] }): string =>
  port.shape ? `${port.type} [${port.shape.map((size) => (size < 0 ? 'any' : size)).join(', ')}]` : port.type;

// Whether what comes out of one goes into the other, as far as it is known. The service has the last word.
function fits(output: CardOutput, input: CardInput): boolean {
  if (output.type !== input.type) return false;
  if (!output.shape || !input.shape) return true;
  return output.shape.length === input.shape.length && output.shape.every((size, at) => size < 0 || input.shape![at]! < 0 || size === input.shape![at]);
}

// A sentence for people; null: it can be connected.
export function whyNotConnect(types: CardTypes, document: Tree, wanted: Connection): string | null {
  const output = outputOf(types, document, wanted.from, wanted.output);
  const input = inputOf(types, document, wanted.to, wanted.input);
  if (!output || !input) return text.ports.unknown;
  if (wanted.from === wanted.to) return text.ports.itself;
  if (!fits(output, input)) return text.ports.otherType(input.name, describePort(input), output.name, describePort(output));
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
