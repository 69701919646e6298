import { cardIds, connectionsOf, positionOf, type Point, type Tree } from './document';

export const cardWidth = 192;
export const columnStep = cardWidth + 64;
export const rowStep = 132;

// Columns by the longest way from a card that needs nothing; in a column, cards stand near those that they read from.
// Where there are more columns than that, they are divided evenly, one part below the other, so that a long chain can
// still be read.
export function arranged(document: Tree, mostColumns = Infinity): Record<string, Point> {
  const ids = cardIds(document);
  const known = new Set(ids);
  const wires = connectionsOf(document).filter((each) => known.has(each.from) && each.from !== each.to);
  const column = columnsOf(ids, wires);
  // A card that only one reads from stands right before it, as a model does before its training.
  for (const id of ids) {
    const readers = wires.filter((each) => each.from === id).map((each) => column.get(each.to)!);
    const hasNoInput = !wires.some((each) => each.to === id);
    if (hasNoInput && readers.length > 0) column.set(id, Math.max(column.get(id)!, Math.min(...readers) - 1));
  }
  const columns: string[][] = [];
  for (const id of ids) (columns[column.get(id)!] ??= []).push(id);
  const row = new Map<string, number>();
  for (const members of columns) {
    if (!members) continue;
    const wanted = new Map(members.map((id) => {
      const before = wires.filter((each) => each.to === id).map((each) => row.get(each.from)).filter((each) => each !== undefined);
      return [id, before.length === 0 ? null : before.reduce((sum, each) => sum + each, 0) / before.length];
    }));
    const order = [...members].sort((a, b) => (wanted.get(a) ?? Infinity) - (wanted.get(b) ?? Infinity) || 0);
    let free = 0;
    for (const id of order) {
      const place = Math.max(free, Math.round(wanted.get(id) ?? free));
      row.set(id, place);
      free = place + 1;
    }
  }
  const bands = Math.max(1, Math.ceil(columns.length / mostColumns));
  const most = Math.ceil(columns.length / bands);
  const bandOf = (id: string) => Math.floor(column.get(id)! / most);
  const rowsOfBand: number[] = [];
  for (const id of ids) rowsOfBand[bandOf(id)] = Math.max(rowsOfBand[bandOf(id)] ?? 0, row.get(id)! + 1);
  const rowsAbove = (band: number) => rowsOfBand.slice(0, band).reduce((sum, rows) => sum + (rows ?? 0), 0);
  return Object.fromEntries(ids.map((id): [string, Point] => [id, [(column.get(id)! - bandOf(id) * most) * columnStep, (rowsAbove(bandOf(id)) + row.get(id)!) * rowStep]]));
}

function columnsOf(ids: string[], wires: { from: string; to: string }[]): Map<string, number> {
  const column = new Map(ids.map((id) => [id, 0]));
  // A document with a circle in it, which the service refuses, must not keep this going.
  for (let round = 0; round < ids.length; round++) {
    let changed = false;
    for (const { from, to } of wires) {
      const least = Math.min(column.get(from)! + 1, ids.length);
      if (column.get(to)! < least) {
        column.set(to, least);
        changed = true;
      }
    }
    if (!changed) break;
  }
  return column;
}

// Every card where it stands, and those without a place where arranging would put them.
export function placesOf(document: Tree): Record<string, Point> {
  const ids = cardIds(document);
  if (ids.every((id) => positionOf(document, id))) return Object.fromEntries(ids.map((id) => [id, positionOf(document, id)!]));
  const some = ids.some((id) => positionOf(document, id));
  const free = arranged(document);
  if (!some) return free;
  const lowest = Math.max(...ids.map((id) => positionOf(document, id)?.[1] ?? -Infinity));
  return Object.fromEntries(ids.map((id): [string, Point] => {
    const [x, y] = free[id]!;
    return [id, positionOf(document, id) ?? [x, y + lowest + rowStep]];
  }));
}

// Where a new card goes without a mouse: to the right of one, on the first place that is free.
export function freePlace(document: Tree, beside: string | null): Point {
  const places = Object.values(placesOf(document));
  const start = beside ? placesOf(document)[beside] : undefined;
  const last = places.reduce<Point | null>((far, each) => (!far || each[0] > far[0] ? each : far), null);
  const [x, y] = start ?? last ?? [-columnStep, 0];
  const isTaken = (at: Point) => places.some((each) => Math.abs(each[0] - at[0]) < cardWidth + 16 && Math.abs(each[1] - at[1]) < rowStep - 12);
  for (let down = 0; ; down++) {
    const at: Point = [x + columnStep, y + down * rowStep];
    if (!isTaken(at)) return at;
  }
}
