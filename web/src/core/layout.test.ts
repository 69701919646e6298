import { describe, expect, it } from 'vitest';
import { connectionsOf, type Tree } from './document';
import { readText } from './document_text';
import { arranged, cardWidth, freePlace, placesOf, rowStep } from './layout';
import { readFileSync } from 'node:fs';

const example = readText(readFileSync(new URL('../../../examples/boston_housing.yaml', import.meta.url), 'utf8')).tree;

describe('the places of cards', () => {
  it('put every card to the right of what it reads from, and none over another', () => {
    const places = arranged(example);
    for (const { from, to } of connectionsOf(example)) expect(places[to]![0]).toBeGreaterThan(places[from]![0]);
    const all = Object.values(places);
    for (const [i, a] of all.entries())
      for (const b of all.slice(i + 1))
        expect(Math.abs(a[0] - b[0]) >= cardWidth || Math.abs(a[1] - b[1]) >= rowStep - 12).toBe(true);
  });

  it('are divided where there are many columns, each part under the one before', () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const chain: Tree = { cards: Object.fromEntries(ids.map((id, at): [string, Tree] => [id, { type: 'x', ...(at > 0 ? { inputs: { i: `${ids[at - 1]}.o` } } : {}) }])) };
    const beside: Tree = { cards: { ...(chain.cards as Tree), f: { type: 'x', inputs: { i: 'a.o' } } } };
    const places = arranged(beside, 2);
    expect(ids.map((id) => places[id]![0])).toEqual([0, 256, 0, 256, 0]);
    expect(ids.map((id) => places[id]![1] / rowStep)).toEqual([0, 0, 2, 2, 3]);
    expect(places.f).toEqual([256, rowStep]);
    expect(ids.map((id) => arranged(chain, 4)[id]![0])).toEqual([0, 256, 512, 0, 256]);
  });

  it('end also for a circle', () => {
    const circle: Tree = { cards: { a: { type: 'x', inputs: { i: 'b.o' } }, b: { type: 'x', inputs: { i: 'a.o' } } } };
    expect(Object.keys(arranged(circle))).toEqual(['a', 'b']);
  });

  it('are those of the document where it has them, and below them where it has not', () => {
    const some: Tree = { ...example, layout: { load: [5, 7] } };
    expect(placesOf(some).load).toEqual([5, 7]);
    expect(placesOf(some).split![1]).toBeGreaterThanOrEqual(7 + rowStep);
  });

  it('leave a new card one that nobody has', () => {
    const at = freePlace(example, 'split');
    for (const [x, y] of Object.values(placesOf(example))) expect(Math.abs(x - at[0]) >= cardWidth || Math.abs(y - at[1]) >= rowStep - 12).toBe(true);
  });
});
