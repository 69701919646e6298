import { describe, expect, it } from 'vitest';
import { placeAfter } from './List';

describe('keys in a list', () => {
  it('go by one, by a page and to both ends, and stay inside', () => {
    expect(placeAfter('ArrowDown', 3, 10, 5)).toBe(4);
    expect(placeAfter('ArrowUp', 0, 10, 5)).toBe(0);
    expect(placeAfter('PageDown', 3, 10, 5)).toBe(8);
    expect(placeAfter('PageDown', 8, 10, 5)).toBe(9);
    expect(placeAfter('End', 0, 10, 5)).toBe(9);
    expect(placeAfter('Home', 7, 10, 5)).toBe(0);
  });
  it('begin at the first row where none is selected', () => expect(placeAfter('ArrowDown', -1, 10, 5)).toBe(0));
  it('that mean nothing, or an empty list, lead nowhere', () => {
    expect(placeAfter('a', 3, 10, 5)).toBeNull();
    expect(placeAfter('ArrowDown', -1, 0, 5)).toBeNull();
  });
});
