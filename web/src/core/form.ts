import { parse, stringify } from 'yaml';
import type { CardType, NameKind, Schema } from '../api/types';
import { isTree, type Tree, type Value } from './document';

// The form of a card's settings, made from the JSON Schema that the service tells of its type.

export type FieldKind = 'choice' | 'switch' | 'integer' | 'number' | 'text' | 'list' | 'map';

export interface FormField {
  path: string[]; // in the card's config
  label: string;
  help: string;
  kind: FieldKind;
  choices: string[];
  usual: string; // its default as text; empty: none
  isRequired: boolean;
  range: string;
  names: NameKind | null; // what its value is a name of
  isFirst: boolean; // one of those that people look for first
  isIdle: boolean; // means nothing beside what is chosen elsewhere
}

export interface FormGroup {
  title: string; // empty: the card's own
  fields: FormField[];
}

const typesIn = (schema: Schema): string[] =>
  [schema.type ?? schema.anyOf?.flatMap((each) => each.type ?? []) ?? []].flat().filter((each) => each !== 'null');

function kindOf(schema: Schema): FieldKind {
  if (schema.enum) return 'choice';
  const types = typesIn(schema);
  if (types.includes('boolean')) return 'switch';
  if (types.includes('array')) return 'list';
  if (types.includes('object')) return 'map';
  if (types.includes('integer')) return 'integer';
  if (types.includes('number')) return 'number';
  return 'text';
}

export const labelOf = (name: string): string => {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

function rangeOf(schema: Schema): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const low = exclusiveMinimum !== undefined ? `above ${exclusiveMinimum}` : minimum !== undefined ? `${minimum}` : '';
  const high = exclusiveMaximum !== undefined ? `below ${exclusiveMaximum}` : maximum !== undefined && maximum < 1e9 ? `${maximum}` : '';
  if (low && high) return `${low} to ${high}`;
  return low && exclusiveMinimum === undefined ? `${low} or more` : low || high;
}

function fieldOf(path: string[], schema: Schema, isRequired: boolean): FormField {
  return {
    path,
    label: labelOf(path.at(-1)!),
    help: schema.description ?? '',
    kind: kindOf(schema),
    choices: (schema.enum ?? []).map(String),
    usual: schema.default === undefined ? '' : textOf(schema.default as Value),
    isRequired,
    range: rangeOf(schema),
    names: null,
    isFirst: false,
    isIdle: false,
  };
}

const mostAtOnce = 6; // settings of a card that does not say which of them come first
const mostOfFamily = 3;

// Those that people look for first, then the others, then those that mean nothing beside what is chosen.
function ranked(type: CardType, config: Tree, fields: FormField[], most: number): FormField[] {
  const first = type.first ?? [];
  const told = fields.map((field, place): FormField => {
    const name = field.path.at(-1)!;
    const rule = field.path.length === 1 ? type.only_with?.[name] : undefined;
    const other = rule && (config[rule.setting] ?? type.settings.properties?.[rule.setting]?.default);
    return {
      ...field,
      names: (field.path.length === 1 && type.names?.[name]) || null,
      isFirst: field.isRequired || first.includes(name) || place < most,
      isIdle: rule !== undefined && !isTree(other as Value) && !rule.values.includes(String(other)),
    };
  });
  const rank = ({ path, isIdle, isFirst }: FormField) => {
    const place = first.indexOf(path.at(-1)!);
    return isIdle ? first.length + 2 : place >= 0 ? place : first.length + (isFirst ? 0 : 1);
  };
  return told.sort((a, b) => rank(a) - rank(b));
}

function fieldsOf(schema: Schema, order: readonly string[] | undefined, config: Tree, before: string[] = []): FormField[] {
  const properties = schema.properties ?? {};
  // Names that settings had once stand behind those that they have.
  const names = [...new Set([...(order ?? []).filter((name) => name in properties), ...Object.keys(properties)])];
  return names.flatMap((name) => {
    const property = properties[name]!;
    const path = [...before, name];
    if (property.deprecated && config[name] === undefined) return [];
    const inner = config[name];
    if (property.properties) return fieldsOf(property, undefined, isTree(inner) ? inner : {}, path);
    return [fieldOf(path, property, (schema.required ?? []).includes(name))];
  });
}

// "Settings of `lstm`" is about the family lstm.
const familyIn = (title: string) => /`([^`]+)`/.exec(title)?.[1] ?? '';

export function familyOf(type: CardType, config: Tree): string {
  const families = new Set(type.more_settings.map((each) => familyIn(each.title)));
  for (const [name, schema] of Object.entries(type.settings.properties ?? {})) {
    if (!schema.enum?.some((choice) => families.has(String(choice)))) continue;
    return String(config[name] ?? schema.default ?? '');
  }
  return '';
}

// The card's own settings, and those of the family of models that is chosen. Settings of other families are left out
// unless they are set: then a person must be able to take them away.
export function formOf(type: CardType, config: Tree): FormGroup[] {
  const own = type.settings.properties ?? {};
  const family = familyOf(type, config);
  const chosen = type.more_settings.find((each) => familyIn(each.title) === family);
  const ofFamilies = new Set(type.more_settings.flatMap((each) => Object.keys(each.settings.properties ?? {})));
  const isNested = chosen !== undefined && !Object.keys(chosen.settings.properties ?? {}).some((name) => name in own);
  const all = fieldsOf(type.settings, type.order, config);
  const nestedIn = isNested ? all.find((field) => field.kind === 'map' && /parameter/.test(field.path[0]!)) : undefined;
  const main = all.filter((field) =>
    field !== nestedIn && (isNested || !ofFamilies.has(field.path[0]!) || (config[field.path[0]!] !== undefined && !(field.path[0]! in (chosen?.settings.properties ?? {})))));
  const groups: FormGroup[] = [{ title: '', fields: ranked(type, config, main, (type.first ?? []).length === 0 ? mostAtOnce : 0) }];
  if (chosen && (nestedIn || !isNested)) {
    const inner = nestedIn ? config[nestedIn.path[0]!] : config;
    groups.push({
      title: chosen.title.replaceAll('`', ''),
      fields: ranked(type, config, fieldsOf(chosen.settings, chosen.order, isTree(inner) ? inner : {}, nestedIn ? nestedIn.path : []), mostOfFamily),
    });
  }
  return groups;
}

export function valueAt(config: Tree, path: readonly string[]): Value | undefined {
  let value: Value | undefined = config;
  for (const key of path) value = isTree(value) ? value[key] : undefined;
  return value;
}

// What stands in an input.
export function textOf(value: Value | undefined): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value) && value.every((each) => (typeof each === 'string' && /^[^,[\]{}\s][^,[\]{}]*$/.test(each)) || typeof each === 'number'))
    return value.join(', ');
  if (typeof value === 'object') return Object.keys(value).length === 0 ? '' : stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
  return String(value);
}

function numberIn(text: string): Value {
  const trimmed = text.trim();
  if (/^[+-]?\d+$/.test(trimmed) && !Number.isSafeInteger(Number(trimmed))) return BigInt(trimmed);
  const number = Number(trimmed);
  return trimmed !== '' && Number.isFinite(number) ? number : text;
}

// What was typed, as a value. What is no such value stays the text that it is: nothing typed is lost, and the service
// says what would be right. Empty: the default.
export function valueOf(field: FormField, typed: string): Value | undefined {
  if (typed.trim() === '') return undefined;
  if (field.kind !== 'text' && /^\s*[{[]/.test(typed)) {
    try {
      return parse(typed) as Value;
    } catch {
      return typed;
    }
  }
  if (field.kind === 'integer' || field.kind === 'number') return numberIn(typed);
  if (field.kind === 'switch') return typed === 'true' ? true : typed === 'false' ? false : typed;
  if (field.kind === 'list') return typed.split(',').map((each) => each.trim()).filter((each) => each !== '').map((each) => numberIn(each));
  if (field.kind === 'map') {
    try {
      const read = parse(typed) as Value;
      return isTree(read) ? read : typed;
    } catch {
      return typed;
    }
  }
  return typed;
}

// Whether a setting is another than it would be without a word; a document that a run has kept says them all.
export const isOwn = (field: Pick<FormField, 'usual'>, value: Value | undefined): boolean => value !== undefined && textOf(value) !== field.usual;

// One line about what a card is set to, for the card itself: what differs from the defaults.
export function summaryOf(type: CardType | undefined, config: Tree): string {
  const order = [...new Set([...(type?.first ?? []), ...(type?.order ?? Object.keys(config))])];
  const usual = (name: string) => textOf(type?.settings.properties?.[name]?.default as Value | undefined);
  const said = order
    .filter((name) => config[name] !== null && isOwn({ usual: usual(name) }, config[name]))
    .map((name): [string, Value] => [name, config[name]!])
    .filter(([, value]) => typeof value !== 'boolean' && !isTree(value) && !(Array.isArray(value) && (value.length === 0 || value.some(isTree))))
    .map(([name, value]) => {
      const words = Array.isArray(value) ? value.join(' – ') : String(value);
      return /^[\d.]/.test(words) ? `${name.replaceAll('_', ' ')} ${words}` : words; // a number alone says little
    });
  return said.slice(0, 3).join(', ');
}
