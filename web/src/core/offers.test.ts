import { describe, expect, it } from 'vitest';
import { offersFor, withChoice, type Offer } from './offers';

const columns: Offer[] = ['CRIM', 'RM', 'LSTAT', 'MEDV'].map((value) => ({ value, note: 'number' }));
const values = (typed: string, isList = false) => offersFor(columns, typed, isList).map((each) => each.value);

describe('names that a setting may take', () => {
  it('are all of them before anything is typed, then those that fit, the ones that begin so first', () => {
    expect(values('')).toEqual(['CRIM', 'RM', 'LSTAT', 'MEDV']);
    expect(values('m')).toEqual(['MEDV', 'CRIM', 'RM', 'LSTAT']);
    expect(values('lst')).toEqual(['LSTAT']);
  });

  it('are none once one is typed in full', () => expect(values('medv')).toEqual([]));

  it('are those that a list does not have yet', () => expect(values('RM, LSTAT, ', true)).toEqual(['CRIM', 'MEDV']));

  it('are found by what they are, too', () => expect(offersFor([{ value: '7f3a', note: 'houses.csv, 506 rows' }], 'houses', false)).toHaveLength(1));

  it('go where they were typed', () => {
    expect(withChoice('me', 'MEDV', 'one')).toBe('MEDV');
    expect(withChoice('RM, ls', 'LSTAT', 'list')).toBe('RM, LSTAT, ');
    expect(withChoice('RM > 5, ls', 'LSTAT', 'condition')).toBe('RM > 5, LSTAT ');
  });
});
