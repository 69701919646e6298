// What a person may choose where a setting takes a name, or a list of names with commas between them.

export interface Offer {
  value: string;
  note: string; // what it is, beside its name
}

// What is being typed of a list: all after the last comma.
export const lastPart = (typed: string): string => typed.slice(typed.lastIndexOf(',') + 1).trim();

const named = (typed: string): Set<string> => new Set(typed.split(',').slice(0, -1).map((each) => each.trim()));

// Those that begin with what is typed before those that only have it. What is typed in full needs no offer, and what
// a list has already is not offered again.
export function offersFor(offers: readonly Offer[], typed: string, isList: boolean): Offer[] {
  const wanted = (isList ? lastPart(typed) : typed.trim()).toLowerCase();
  const taken = isList ? named(typed) : new Set<string>();
  if (offers.some((each) => each.value.toLowerCase() === wanted)) return [];
  const has = (each: Offer) => `${each.value} ${each.note}`.toLowerCase().includes(wanted);
  const rank = (each: Offer) => (each.value.toLowerCase().startsWith(wanted) ? 0 : 1);
  return offers.filter((each) => !taken.has(each.value) && has(each)).sort((a, b) => rank(a) - rank(b));
}

// What stands in the field after a choice. A condition goes on behind its column.
export function withChoice(typed: string, chosen: string, kind: 'one' | 'list' | 'condition'): string {
  if (kind === 'one') return chosen;
  const before = typed.includes(',') ? `${typed.slice(0, typed.lastIndexOf(',')).trim()}, ` : '';
  return `${before}${chosen}${kind === 'list' ? ', ' : ' '}`;
}
