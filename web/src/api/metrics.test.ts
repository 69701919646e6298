import { describe, expect, it } from 'vitest';
import { placesOfBest, resultsOf, titleOf, type Metric, type Metrics } from './metrics';

const metric = (name: string, title: string, higher_is_better: boolean): [string, Metric] => [name, { name, title, higher_is_better }];
const known: Metrics = new Map([metric('r2', 'R²', true), metric('rmse', 'RMSE', false)]);

describe('results', () => {
  it('are read from a map and from a list, in the order of the service', () => {
    const asMap = resultsOf([{ card: 'e', rows: 4, metrics: { coverage_of_90: 0.9, rmse: 1, r2: 0.5 } }], known);
    const asList = resultsOf([{ card: 'e', rows: 4, metrics: [{ name: 'rmse', value: 1 }, { name: 'coverage_of_90', value: 0.9 }, { name: 'r2', value: 0.5 }] }], known);
    expect(asMap).toEqual([{ card: 'e', rows: 4, metrics: [['r2', 0.5], ['rmse', 1], ['coverage_of_90', 0.9]] }]);
    expect(asList).toEqual(asMap);
  });
  it('that are not there are none', () => expect(resultsOf(undefined, known)).toEqual([]));
});

describe('the best', () => {
  it('is the highest or the lowest, as the metric says', () => {
    expect(placesOfBest([0.5, 0.9, 0.9, null], known.get('r2'))).toEqual([1, 2]);
    expect(placesOfBest([3, 1, 2], known.get('rmse'))).toEqual([1]);
  });
  it('is none where all are equal, where there is one value, and of a metric without a better way', () => {
    expect(placesOfBest([1, 1], known.get('r2'))).toEqual([]);
    expect(placesOfBest([1, null], known.get('r2'))).toEqual([]);
    expect(placesOfBest([1, 2], undefined)).toEqual([]);
  });
});

it('a metric has its title, or its name in words', () => {
  expect(titleOf('r2', known)).toBe('R²');
  expect(titleOf('coverage_of_90', known)).toBe('coverage of 90');
});
