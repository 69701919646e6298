import { describe, expect, it } from 'vitest';
import { boundsOf, idFrom, missingWords, nameOfSource, rangesOf, wordsOf, type PreviewColumn } from './column_facts';

const column = (type: string, distribution: PreviewColumn['distribution']): PreviewColumn => ({ name: 'c', type, nulls: 0, distribution: distribution ?? null });

describe('what is told of a column', () => {
  it('of numbers is their range, mean and median', () => {
    expect(wordsOf(column('double', { kind: 'number', lowest: 0, highest: 10, mean: 4, deviation: 2, quartiles: [2, 4, 6], counts: [1], distinct: 7, more_distinct: false }))).toEqual(['0 to 10', 'mean 4 ± 2', 'median 4', '7 different']);
  });
  it('of moments is their range as the rows show them, or as days where only seconds are told', () => {
    expect(boundsOf(column('timestamp[s]', { kind: 'moment', lowest: 0, highest: 86400, lowest_text: 'a', highest_text: 'b' }))).toEqual(['a', 'b']);
    expect(wordsOf(column('date32[day]', { lowest: 1577836800, highest: 1578009600, mean: 1, deviation: 1, counts: [1] }))).toEqual(['2020-01-01 to 2020-01-03']);
  });
  it('of whole numbers is their range to the last digit', () => expect(boundsOf(column('int64', { lowest: 198712, highest: 3208871 }))).toEqual(['198,712', '3,208,871']));
  it('of texts is how many are different', () => expect(wordsOf(column('string', { distinct: 10000, more_distinct: true, frequent: [] }))).toEqual(['more than 10,000 different']));
  it('without a value is that', () => expect(wordsOf(column('string', null))).toEqual(['every value is missing']));
});

it('missing values have their share', () => {
  expect(missingWords(0, 100)).toBe('none missing');
  expect(missingWords(1, 1000)).toBe('1 missing (< 1 %)');
  expect(missingWords(250, 1000)).toBe('250 missing (25 %)');
});

it('ranges are read line by line, and lines that are none are told', () => {
  expect(rangesOf('depth 0 11000\n sea level - 5.5\n')).toEqual({ ranges: { depth: [0, 11000], 'sea level': [null, 5.5] }, wrong: [] });
  expect(rangesOf('depth\ndepth 0 x\ndepth - -').wrong).toEqual(['depth', 'depth 0 x', 'depth - -']);
});

it('a file gives its name to a dataset', () => {
  expect(idFrom('Wells (2026).csv.gz')).toBe('Wells-2026');
  expect(idFrom('a.b.parquet')).toBe('a-b');
});

it('a source is read by the name of its file', () => {
  expect(nameOfSource('/srv/uploads/6a1b2d4e-e598-4019-9bb2-be3fb7261499.csv.gz')).toBe('a .csv.gz file here');
  expect(nameOfSource('/srv/data/uploads/wells.csv')).toBe('wells.csv');
  expect(nameOfSource('/srv/uhf.sqlite (table uhf)')).toBe('uhf.sqlite (table uhf)');
  expect(nameOfSource('sample friedman')).toBe('sample friedman');
  expect(nameOfSource('https://example.org/wells.csv')).toBe('https://example.org/wells.csv');
});
