import { figure } from '../ui/format';

// The form that a model is tried with: values by the names of its columns, as a person types them.
export interface ModelColumn {
  name: string;
  type: 'number' | 'text' | 'date';
  form?: string;
}

export type Typed = Record<string, string>;

export interface Row {
  values: Record<string, string | number | null>;
  errors: Record<string, string>;
}

// What is left empty is missing, which models know to fill in.
export function rowOf(columns: readonly ModelColumn[], typed: Typed, notNumber: string): Row {
  const row: Row = { values: {}, errors: {} };
  for (const { name, type } of columns) {
    const text = (typed[name] ?? '').trim();
    if (text === '') row.values[name] = null;
    else if (type !== 'number') row.values[name] = text;
    else if (Number.isFinite(Number(text))) row.values[name] = Number(text);
    else row.errors[name] = notNumber;
  }
  return row;
}

export interface TablePreview {
  rows: number;
  columns: { name: string }[];
  first_rows: (string | null)[][];
}

export interface RowOfData {
  typed: Typed;
  actual: string | null; // what the table has for the target; null: nothing
}

// A row of a table as it would be typed, with what is true of it; null where the table lacks a column of the model.
export function rowOfTable(table: TablePreview, columns: readonly ModelColumn[], target: string, row: number): RowOfData | null {
  const typed = typedFrom(table, columns, row);
  if (!typed) return null;
  const place = table.columns.findIndex((column) => column.name === target);
  return { typed, actual: (place < 0 ? null : table.first_rows[row]![place]) || null };
}

export function typedFrom(table: TablePreview, columns: readonly ModelColumn[], row: number): Typed | null {
  const values = table.first_rows[row];
  if (!values) return null;
  const typed: Typed = {};
  for (const { name } of columns) {
    const place = table.columns.findIndex((column) => column.name === name);
    if (place < 0) return null;
    typed[name] = values[place] ?? '';
  }
  return typed;
}

export interface Prediction {
  predictions: (number | string | number[])[];
  classes?: string[];
  probabilities?: number[][];
  deviations?: (number | number[])[];
  lower?: (number | number[])[];
  upper?: (number | number[])[];
  filled?: Record<string, number>;
  unseen?: Record<string, number>;
  notes?: string[];
  outside?: Record<string, { rows: number; low: number | string; high: number | string }>; // dates are text
  target?: string;
}

// What the service noted of an answer, as sentences.
export interface NoteWords {
  filled: (count: number, column: string) => string;
  unseen: (count: number, column: string) => string;
  outside: (count: number, column: string, low: string, high: string) => string;
}
const endText = (end: number | string): string => (typeof end === 'number' ? figure(end) : end);

export function notesOf(answer: Prediction, words: NoteWords): string[] {
  return [
    ...Object.entries(answer.outside ?? {}).map(([column, { rows, low, high }]) => words.outside(rows, column, endText(low), endText(high))),
    ...Object.entries(answer.unseen ?? {}).map(([column, values]) => words.unseen(values, column)),
    ...Object.entries(answer.filled ?? {}).map(([column, values]) => words.filled(values, column)),
    ...(answer.notes ?? []),
  ];
}

// The classes of one row, the most probable first.
export function likelyClasses(answer: Prediction, row: number, most = 5): { name: string; share: number }[] {
  const shares = answer.probabilities?.[row] ?? [];
  return (answer.classes ?? [])
    .map((name, place) => ({ name, share: shares[place] ?? 0 }))
    .sort((a, b) => b.share - a.share)
    .slice(0, most);
}

// A name for a deployment: what an address may have.
export function deploymentName(name: string): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9._-]+/g, '-').replace(/^[^a-z0-9]+/, '').replace(/-+$/, '').slice(0, 64);
  return plain || 'model';
}
